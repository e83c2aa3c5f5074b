"""What is said of a duet of commands: the table, the remarks, Markdown and data."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rlperf.duet.command_line import DuetCommand, DuetCommands
from pytest_rlperf.duet.model import (
    AloneRun,
    CommandResult,
    CommandVerdict,
    DuetResult,
    DuetSettings,
)
from pytest_rlperf.duet.report import (
    command_remarks,
    duet_as_dict,
    duet_markdown,
    render_duet,
    render_duet_header,
)
from pytest_rlperf.duet.runner import Program
from pytest_rlperf.errors import ExitCode
from pytest_rlperf.model.metric import Interval, Outcome, Verdict

MS = 1e6


def settings(**changes: object) -> DuetSettings:
    each = tuple(DuetCommand(text, Program(text, (text,))) for text in ("old", "new"))
    return replace(DuetSettings(DuetCommands(each, None), 0.05, 60.0), **changes)  # type: ignore[arg-type]


def command(text: str, ms: float = 100.0, busy: float = 1.0) -> CommandResult:
    run = AloneRun(ms * MS, busy * ms * MS, 10 << 20)
    return CommandResult(text, (run,), (ms * MS, ms * MS), (MS, MS))


def result(outcome: Outcome = Outcome.UNCHANGED, change: float = 0.01) -> DuetResult:
    interval = Interval(change, change - 0.01, change + 0.01)
    verdict = Verdict(outcome, "so it is", 0.05, interval, 0.08)
    return DuetResult(
        settings(),
        (command("old"), command("new")),
        (CommandVerdict(1, verdict, 24, (change,) * 6),),
        cores=(0, 1),
        seconds=3.0,
    )


def test_the_table_has_both_commands_with_the_change_of_the_second():
    titles, first, second = (line.text for line in render_duet(result()))
    assert titles.split()[:2] == ["change", "95"]
    assert first.startswith("first")
    assert first.endswith("old")
    assert second.startswith("unchanged  +1.0 %")
    assert second.endswith("new")
    assert "101 ms" in second  # the first one's time and the change, which was measured in pairs


@pytest.mark.parametrize(
    ("change", "said"),
    [(1.0, "new takes 2 times as long as old"), (-0.5, "new is 2 times as fast as old")],
)
def test_a_large_change_is_told_as_a_factor_too(change: float, said: str):
    assert said in [line.text for line in render_duet(result(Outcome.REGRESSED, change))]


@pytest.mark.parametrize(
    ("each", "said"),
    [
        (command("a", 500, busy=0.1), "it waits for 90.0 % of its time"),
        (command("a", 2), "most of which is the start of a process"),
        (command("a", 500, busy=2.0), "alone it computes on 2.0 cores"),
        (replace(command("a"), statuses={3: 2, -11: 1}), "2 of its 3 runs ended with exit code 3"),
        (replace(command("a"), statuses={-11: 1}), "1 of its 3 runs was ended by SIGSEGV"),
        (replace(command("a"), left=4), "it left 4 processes running"),
    ],
)
def test_what_the_figures_do_not_show_is_told(each: CommandResult, said: str):
    assert said in "; ".join(command_remarks(each, settings()))


def test_by_the_clock_nothing_is_said_of_waiting_and_cores():
    for busy in (0.1, 2.0):
        assert list(command_remarks(command("a", busy=busy), settings(waits=True))) == []


def test_the_header_says_how_it_is_measured_and_by_which_shell():
    plain = render_duet_header(settings(), (0, 1))
    assert "CPU times" in plain
    assert "without a shell" in plain
    assert "cores 0-1" in plain
    by_shell = settings(waits=True, commands=replace(settings().commands, shell="/bin/sh"))
    assert "by the clock, one run after the other, each by /bin/sh -c" in render_duet_header(
        by_shell, ()
    )


def test_markdown_is_a_table_with_the_remarks_below():
    lines = duet_markdown(result(Outcome.REGRESSED, 1.0)).splitlines()
    assert len({line.count("|") for line in lines[:4]}) == 1
    assert lines[3].startswith("| REGRESSED | +100 %")
    assert lines[-1] == "- `new takes 2 times as long as old`"


def test_the_data_have_the_names_and_seconds_of_hyperfine():
    data = json.loads(json.dumps(duet_as_dict(result(), "now", {"cpu": "x"}), allow_nan=False))
    old = data["results"][0]
    assert (old["command"], old["mean"], old["times"]) == ("old", 0.1, [0.1, 0.1])
    assert data["verdicts"][0]["outcome"] == "unchanged"
    assert data["verdicts"][0]["against"] == "old"


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (result(), ExitCode.FINE),
        (result(Outcome.REGRESSED), ExitCode.FAILED),
        (result(Outcome.INCONCLUSIVE), ExitCode.FINE),
        (replace(result(Outcome.REGRESSED), interrupted=True), ExitCode.INTERRUPTED),
        (
            replace(
                result(), verdicts=(CommandVerdict(1, Verdict(Outcome.INCONCLUSIVE, "short"), 0),)
            ),
            ExitCode.NOTHING_COMPARED,
        ),
    ],
)
def test_the_exit_code_follows_from_the_verdicts(ended: DuetResult, code: ExitCode):
    assert ended.exit_code is code


def test_an_input_is_a_path():
    assert settings(input=Path("x")).input == Path("x")
