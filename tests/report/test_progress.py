"""The live line, in a terminal and in a log."""

import io
from dataclasses import replace

import pytest

from pytest_rlperf.model.progress import Progress
from pytest_rlperf.report.progress import LOG_EVERY_S, ProgressLine, render_progress

SCOUTING = Progress(decided=0, tests=12, blocks=0, widest=None, elapsed_s=1.6, budget_s=300.0)
MEASURING = Progress(decided=3, tests=12, blocks=8, widest=0.012, elapsed_s=42.0, budget_s=300.0)

SCOUTING_LINE = "rlperf: 0 of 12 decided · scouting · 2 s of 300 s"
MEASURING_LINE = "rlperf: 3 of 12 decided · block 8 · widest interval ±1.2 % · 42 s of 300 s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("progress", "line"), [(SCOUTING, SCOUTING_LINE), (MEASURING, MEASURING_LINE)]
)
def test_a_line_says_how_far_it_has_come(progress: Progress, line: str):
    assert render_progress(progress) == line


def test_of_several_rounds_a_line_says_which():
    line = render_progress(replace(SCOUTING, label="round 2, +10.0 %"))
    assert line == "rlperf: round 2, +10.0 %: 0 of 12 decided · scouting · 2 s of 300 s"


def test_in_a_terminal_a_line_is_written_over_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()
    line = ProgressLine(terminal)
    line.show(MEASURING)
    line.show(SCOUTING)
    line.clear()
    line.clear()
    over = SCOUTING_LINE.ljust(len(MEASURING_LINE))
    wiped = " " * len(SCOUTING_LINE)
    assert terminal.getvalue() == f"\r{MEASURING_LINE}\r{over}\r{wiped}\r"


def test_in_a_narrow_terminal_a_line_is_cut_so_that_it_does_not_wrap(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    line = ProgressLine(terminal)
    line.show(MEASURING)
    line.clear()
    assert terminal.getvalue() == f"\r{MEASURING_LINE[:29]}\r{' ' * 29}\r"


def test_a_log_gets_a_line_now_and_then():
    log, now = io.StringIO(), [100.0]
    line = ProgressLine(log, clock=lambda: now[0])
    for seconds in (0.0, 1.0, LOG_EVERY_S, LOG_EVERY_S + 1, 2 * LOG_EVERY_S):
        now[0] = 100.0 + seconds
        line.show(MEASURING)
    line.clear()
    assert log.getvalue() == f"{MEASURING_LINE}\n" * 2
