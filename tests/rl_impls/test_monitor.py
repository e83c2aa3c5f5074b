"""Rows are buffered and none is lost, however the program ends."""

import csv
import io
import subprocess
import sys

import psutil
import pytest

from rl_impls.errors import LogError, SettingError
from rl_impls.monitor import (
    BUFFER_ROWS,
    BufferedLogger,
    Performance,
    PerformanceMonitor,
    ProgressBar,
    render_bar,
)
from rl_impls.runtimes import Every, Progress, SerialRuntime, run
from rl_impls.runtimes.machine import Usage, peak_rss_bytes
from rl_impls.tabular.training import Training
from tests.rl_impls.runtimes.games import player, tictactoe


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
        "from rl_impls.monitor import BufferedLogger\n"
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


# Throughput, CPU and memory between two reports; and the progress bar.


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_reports_are_about_the_time_since_the_last_one():
    times = iter([0.0, 4.0, 10.0, 12.0, 20.0])
    # At the start, then before and after each report.
    usages = iter([Usage(1.0, 5), Usage(3.0, 70), Usage(9.0, 70), Usage(13.0, 80), Usage(0.0, 0)])
    told: list[Performance] = []
    monitor = PerformanceMonitor(
        Every(100), told.append, clock=lambda: next(times), usage=lambda: next(usages)
    )
    runtime = SerialRuntime(player(), tictactoe(seed=0))
    monitor(Progress(Training(100, 0, 0.0), 2.0), runtime)
    monitor(Progress(Training(300, 0, 0.0), 3.0), runtime)
    assert told == [Performance(100, 50.0, 50.0, 70), Performance(300, 200.0, 200.0, 80)]


def test_a_training_is_monitored_every_n_steps():
    told: list[Performance] = []
    monitor = PerformanceMonitor(Every(1_000), told.append)
    run(SerialRuntime(player(), tictactoe(seed=0)), 3_500, hooks=[monitor])
    assert [report.steps for report in told] == [1_000, 2_000, 3_000]
    assert all(report.steps_per_s > 0 and report.rss_bytes > 10_000_000 for report in told)


def test_the_peak_is_at_least_what_is_in_use():
    assert peak_rss_bytes() >= psutil.Process().memory_info().rss > 10_000_000


def test_the_bar_fills():
    assert render_bar("t", 0, 10, 0.0) == f"t   0% |{' ' * 30}| 0 of 10 steps, 0.0 s"
    assert render_bar("t", 5_000, 10_000, 1.5) == (
        f"t  50% |{'█' * 15}{' ' * 15}| 5,000 of 10,000 steps, 1.5 s"
    )


def test_a_terminal_sees_one_line_redrawn_and_not_too_often():
    times = iter([0.0, 1.0, 1.05, 2.0, 3.0])
    terminal = Terminal()
    bar = ProgressBar("t", 10, terminal, clock=lambda: min(3.0, next(times, 3.0)))
    for n in (1, 2, 3):
        bar(n)
    bar.close()
    said = terminal.getvalue()
    assert said.count("\n") == 1
    assert said.endswith("3 of 10 steps, 3.0 s\n")


def test_a_file_gets_the_last_state_only():
    file = io.StringIO()
    bar = ProgressBar("t", 10, file)
    bar(1)
    bar(10)
    bar.close()
    assert file.getvalue().count("steps") == 1
    assert "10 of 10" in file.getvalue()
