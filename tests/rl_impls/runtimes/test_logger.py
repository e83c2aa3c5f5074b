"""Rows are buffered and none is lost, however the program ends."""

import csv
import subprocess
import sys

import pytest

from rl_impls.errors import LogError, SettingError
from rl_impls.monitor.logger import BUFFER_ROWS, BufferedLogger


def rows_in(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_rows_are_written_a_thousand_at_a_time(tmp_path):
    path = tmp_path / "log.csv"
    with BufferedLogger(path, ["step", "reward"]) as logger:
        assert rows_in(path) == [["step", "reward"]]
        for step in range(BUFFER_ROWS - 1):
            logger.log((step, 0.5))
        assert len(rows_in(path)) == 1
        logger.log((BUFFER_ROWS - 1, 0.5))
        assert len(rows_in(path)) == 1 + BUFFER_ROWS
        logger.log(("one, with a comma", 1.0))
    assert rows_in(path)[-1] == ["one, with a comma", "1.0"]


def test_an_exception_loses_no_row(tmp_path):
    path = tmp_path / "log.csv"

    def log_and_fail():
        with BufferedLogger(path, ["step"]) as logger:
            logger.log([7])
            logger.log([1 // 0])

    with pytest.raises(ZeroDivisionError):
        log_and_fail()
    assert rows_in(path) == [["step"], ["7"]]


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0", "del logger"])
def test_a_program_that_forgets_to_close_loses_no_row(tmp_path, end):
    path = tmp_path / "log.csv"
    program = (
        "import sys\n"
        "from rl_impls.monitor.logger import BufferedLogger\n"
        "logger = BufferedLogger(sys.argv[1], ['step'])\n"
        "for step in range(5): logger.log([step])\n" + end
    )
    subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True)
    assert rows_in(path) == [["step"], *([str(step)] for step in range(5))]


def test_mistakes_are_told(tmp_path):
    with pytest.raises(LogError, match="choose another place"):
        BufferedLogger(tmp_path / "nowhere" / "log.csv", ["step"])
    with pytest.raises(SettingError, match="at least 1 row, not 0"):
        BufferedLogger(tmp_path / "log.csv", ["step"], buffer_rows=0)
    logger = BufferedLogger(tmp_path / "log.csv", ["step", "reward"])
    with pytest.raises(LogError, match="1 values does not fit the columns step, reward"):
        logger.log([1])
    logger.close()
    with pytest.raises(LogError, match="the log is closed"):
        logger.log([1, 2])
