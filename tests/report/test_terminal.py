"""The run as text: whole tables, as a reader sees them."""

import io
from dataclasses import replace
from typing import Any

import pytest

from pytest_rlperf.model.block import Block, Spending
from pytest_rlperf.model.kpi import BUILT_IN, KpiResult, Reading, Status
from pytest_rlperf.model.metric import Outcome, Severity
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.result import Failure, Progress, RunResult, Vanished
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.terminal import (
    LOG_EVERY_S,
    ProgressLine,
    render_failure,
    render_header,
    render_progress,
    render_sections,
    render_table,
    render_values,
    render_witnesses,
)
from pytest_rlperf.report.text import Style, render_summary, render_undecided
from tests.factories import a_test, block, run_result, side, verdict
from tests.sample_runs import EVERYTHING

MS = 10**6


def played(head_ms: int, base_ms: int | None, **fields: Any) -> tuple[Block, ...]:
    base = None if base_ms is None else [base_ms * MS] * 4
    return (block([head_ms * MS] * 4, base, **fields),) * 2


SLOWER = a_test(
    "test_agents.py::test_update",
    verdict=verdict(
        Outcome.REGRESSED,
        "slower than the allowed +5.0 %, beyond doubt",
        (0.08, 0.07, 0.09),
        detectable=0.061,
        severity=Severity.NOTICE,
    ),
    blocks=played(108, 100, steal=0.031),
    steps=1000,
)
SAME = a_test(
    "test_replay.py::test_gather",
    verdict=verdict(change=(0.001, -0.004, 0.006), detectable=0.058),
    blocks=played(2, 2),
)
DRIFTING = a_test(
    "test_replay.py::test_add",
    verdict=verdict(Outcome.SLOWER, change=(0.02, 0.01, 0.03), detectable=0.058),
    blocks=played(2, 2),
)
NEW = a_test(
    "test_new.py::test_new",
    verdict=verdict(Outcome.NO_BASELINE, "it cannot be collected on the base: ImportError: q"),
)
BROKEN = a_test(
    "test_x.py::test_x",
    verdict=verdict(Outcome.FAILED, "there is nothing to judge", threshold=None),
    failure=Failure("x = 1\nE   AssertionError"),
)

TABLE = """\
                  change   95 % interval     allowed  detects  base → head                      blocks  test
REGRESSED         +8.0 %   [+7.0, +9.0 %]    +5.0 %   +6.1 %   100 ms → 108 ms (9,259 steps/s)  2       test_agents.py::test_update
failed                                                                                                  test_x.py::test_x
no baseline                                                                                             test_new.py::test_new
slower (allowed)  +2.0 %   [+1.0, +3.0 %]    +5.0 %   +5.8 %   2 ms → 2.04 ms                   2       test_replay.py::test_add
unchanged         +0.10 %  [-0.40, +0.60 %]  +5.0 %   +5.8 %   2 ms → 2 ms                      2       test_replay.py::test_gather

test_new.py::test_new: no baseline: it cannot be collected on the base: ImportError: q"""  # noqa: E501


def table(run: RunResult) -> list[str]:
    return [line.text for line in render_table(run)]


def test_the_table_has_the_worst_first_and_the_reasons_that_numbers_do_not_show():
    assert "\n".join(table(run_result(SAME, NEW, DRIFTING, BROKEN, SLOWER))) == TABLE


def test_without_a_comparison_its_columns_are_left_out():
    alone = verdict(Outcome.NO_BASELINE, "measured, with nothing to compare with")
    run = run_result(a_test(verdict=alone, blocks=played(3, None), steps=7), against=None)
    assert table(run) == [
        "             time a call           blocks  test",
        "no baseline  3 ms (2,333 steps/s)  2       test_a.py::test_a",
    ]


def test_a_judgement_on_the_sums_is_remarked_on():
    by_sums = verdict(change=(0.0, -0.01, 0.01), reason="by the sums", label="by sums")
    *_, last = table(run_result(a_test(verdict=by_sums, blocks=played(2, 2))))
    assert last == "test_a.py::test_a: unchanged: by the sums (by sums)"


def test_a_change_that_is_not_judged_is_shown_and_its_reason_is_told_once():
    foreign = verdict(
        Outcome.INCOMPARABLE, "saved on another machine", (0.5, 0.4, 0.6), threshold=None
    )
    tests = [a_test(f"t.py::{n}", verdict=foreign, blocks=played(3, None)) for n in range(90)]
    lines = table(run_result(*tests, SAME, against="baseline 'main'"))
    assert " ".join(lines[1].split()) == (
        "incomparable +50.0 % [+40.0, +60.0 %] 2 ms → 3 ms 2 t.py::0"
    )
    assert lines[-3:] == [
        "",
        "90 tests: incomparable: saved on another machine",
        "  t.py::0, t.py::1, t.py::2 and 87 more",
    ]


@pytest.mark.parametrize(
    ("first_ns", "remark"),
    [
        (None, []),
        (90 * MS, []),  # nobody minds
        (1500 * MS, ["", "test_a.py::test_a: the first call took 1.5 s, outside of the slices"]),
    ],
)
def test_a_slow_first_call_is_remarked_on(first_ns: float | None, remark: list[str]):
    same = verdict(change=(0.0, -0.01, 0.01))
    test = a_test(verdict=same, blocks=played(2, 2), first_call_ns=first_ns)
    assert table(run_result(test))[2:] == remark


def test_a_first_call_like_the_others_is_not_remarked_on():
    same = verdict(change=(0.0, -0.01, 0.01))
    test = a_test(verdict=same, blocks=played(1000, 1000), first_call_ns=1500 * MS)
    assert table(run_result(test))[2:] == []


def test_the_value_of_head_fits_the_change_that_was_measured_in_pairs():
    drifting = (block([300 * MS], [200 * MS]), block([110 * MS], [100 * MS]))
    found = a_test(
        verdict=verdict(change=(0.2, 0.1, 0.3)), blocks=(*drifting, drifting[1]), steps=12
    )
    assert render_values(found) == "100 ms → 120 ms (100 steps/s)"


def test_without_an_interval_the_value_of_head_is_its_median():
    assert render_values(a_test(blocks=played(3, 2))) == "2 ms → 3 ms"


def test_the_header_announces_the_time_for_profiles():
    header = render_header("against main", 300.0, (0, 1), 120.0)
    assert "budget 300 s and at most 120 s to explain regressions, pinned" in header


def test_the_summary_counts_the_worst_first():
    run = run_result(SAME, NEW, DRIFTING, BROKEN, SLOWER)
    assert (
        render_summary(run)
        == "1 regressed, 1 failed, 1 no baseline, 1 slower (allowed), 1 unchanged"
    )
    assert render_summary(run_result()) == ""


@pytest.mark.parametrize(
    ("own", "steal", "told"),
    [
        (100, 0.0, "the core to itself, steal at most 0.00 %"),
        (82, 0.0, "other work took 18.0 % of the core, steal at most 0.00 %"),
        (100, 0.2, "CPU time +0.00 %, steal at most 20.0 %"),
    ],
)
def test_what_the_machine_did_meanwhile_is_told_in_words(own: int, steal: float, told: str):
    played = Block(side([own], wall_ns=(100,)), side([own], wall_ns=(100,)), 0, steal=steal)
    assert told in render_witnesses(a_test(blocks=(played,)))


def test_a_regression_shows_its_numbers_its_evidence_and_how_to_see_it_again():
    assert render_failure(SLOWER, "main (1a2b3c4)") == (
        "REGRESSED (notice): time +8.0 % [+7.0, +9.0 %] against main (1a2b3c4), allowed +5.0 %\n"
        "  why: slower than the allowed +5.0 %, beyond doubt\n"
        "  time a call: 100 ms → 108 ms (9,259 steps/s), "
        "2 blocks of 4 sliced pairs, 1 call a slice\n"
        "  witnesses: CPU time +8.0 %, steal at most 3.1 %, preempted 0 times/s\n"
        "  repeat: pytest --rlperf test_agents.py::test_update"
    )


def test_several_calls_a_slice_are_counted():
    several = a_test(blocks=played(2, 2), plan=Plan(Mode.CONCURRENT, calls=20, pairs=4, warmup=1))
    assert "2 blocks of 4 concurrent pairs, 20 calls a slice" in render_failure(several, "main")


def test_a_test_whose_plan_its_file_has_lost_is_told_without_it():
    text = render_failure(replace(SLOWER, plan=None), "main")
    assert "a slice" not in text
    assert "  time a call: 100 ms → 108 ms (9,259 steps/s)\n" in text


def test_blocks_of_different_length_give_the_range_of_their_pairs():
    longer = block([2 * MS] * 16, [2 * MS] * 16)
    found = a_test(blocks=(*played(2, 2), longer))
    assert "3 blocks of 4 to 16 sliced pairs" in render_failure(found, "main")


def test_a_failure_without_a_measurement_says_why_and_how_to_repeat_it():
    assert render_failure(NEW, "main") == (
        "no baseline: test_new.py::test_new\n"
        "  why: it cannot be collected on the base: ImportError: q\n"
        "  repeat: pytest --rlperf test_new.py::test_new"
    )


def test_a_test_that_failed_by_itself_shows_the_cause_and_then_its_own_traceback_only():
    assert render_failure(BROKEN, "main") == "AssertionError\n\nx = 1\nE   AssertionError"


def test_a_failure_that_begins_with_its_cause_says_it_once():
    text = "rank 1 failed: ValueError: no (2 ranks)\n\nrank 1:\nE   ValueError: no"
    assert render_failure(a_test(failure=Failure(text)), None) == text


def test_a_failure_without_a_marked_cause_is_shown_as_it_is():
    crashed = a_test(failure=Failure("the head worker ended (signal SIGSEGV) during this test"))
    assert render_failure(crashed, "main") == (
        "the head worker ended (signal SIGSEGV) during this test"
    )


def test_a_stored_baseline_shows_what_it_would_take_now():
    stored = a_test(
        verdict=verdict(change=(0.25, 0.2, 0.3), detectable=0.4), blocks=played(100, None), steps=10
    )
    assert render_values(stored) == "80 ms → 100 ms (100 steps/s)"
    title, row, *_ = table(run_result(stored, against="baseline 'main'"))
    assert "detects  base → head" in title
    assert "+40.0 %  80 ms → 100 ms" in row


def test_vanished_tests_have_a_line_each_with_a_hint_where_there_is_one():
    gone = (Vanished("a.py::old", "a.py::new"), Vanished("a.py::gone"))
    assert table(run_result(SAME, vanished=gone))[2:] == [
        "",
        "a.py::old: vanished: it has a stored baseline, and is no longer there; it seems to be "
        "a.py::new now",
        "a.py::gone: vanished: it has a stored baseline, and is no longer there",
    ]


def test_what_is_incomparable_says_why_even_where_nothing_was_compared():
    changed = verdict(Outcome.INCOMPARABLE, "the benchmark itself changed")
    alone = verdict(Outcome.NO_BASELINE, "measured, with nothing to compare with")
    run = run_result(
        a_test("a.py::changed", verdict=changed), a_test("a.py::new", verdict=alone), against=None
    )
    assert table(run)[3:] == [
        "",
        "a.py::changed: incomparable: the benchmark itself changed",
    ]


# The line above a run.


@pytest.mark.parametrize(
    ("cores", "shown"),
    [((3,), "3"), ((0, 1), "0-1"), ((0, 1, 2, 5), "0-2,5"), ((0, 2, 4, 5), "0,2,4-5")],
)
def test_cores_in_a_row_are_shown_as_a_span(cores: tuple[int, ...], shown: str):
    line = render_header("against main", 200.0, cores)
    assert line == f"against main, budget 200 s, pinned to cores {shown}"


def test_a_run_that_cannot_be_pinned_says_what_it_means():
    assert render_header("against main", 0.5, ()).endswith(", NOT PINNED: wider intervals")


# The parts of the terminal's summary: verdicts first, and none that has nothing to say.


def test_a_plain_run_has_its_verdicts_only():
    run = run_result(a_test())
    assert render_sections(run) == render_table(run)


def test_parts_follow_each_other_with_a_line_between():
    slow = (block([50 * 10**6], None),)
    run = run_result(
        a_test("a", spec=Spec(category="env"), blocks=slow, steps=1),
        a_test("b", spec=Spec(category="rl")),
        kpis=(KpiResult(BUILT_IN[0], Status.NOT_MEASURED, "no selected test claims it"),),
    )
    lines = [line.text for line in render_sections(run)]
    starts = [lines[n + 1].split()[0] for n, line in enumerate(lines) if not line]
    assert starts == ["KPIs", "category", "advice:"]


def test_the_last_line_says_what_the_time_went_to():
    cost = Spending(workers=3.4, scouting=2.0, warmup=0.4, slices=6.1, rest=0.4456)
    *_, last = render_sections(run_result(a_test(), cost=cost))
    assert last.text == "the 12 s went to: starting workers 3 s, scouting 2 s, slices 6 s"


# The live line, in a terminal and in a log.


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


@pytest.mark.parametrize(("seeds", "trained"), [(0, "0 seeds"), (1, "1 seed"), (12, "12 seeds")])
def test_while_agents_are_trained_a_line_counts_seeds(seeds: int, trained: str):
    line = render_progress(replace(SCOUTING, label="learning", seeds=seeds))
    assert line == f"rlperf: learning: 0 of 12 decided · {trained} trained · 2 s of 300 s"


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


def test_a_log_says_at_once_what_the_run_needs():
    log = io.StringIO()
    line = ProgressLine(log, clock=lambda: 100.0)
    scouted = replace(SCOUTING, needed_s=297.0)
    for progress in (SCOUTING, scouted, scouted):
        line.show(progress)
    said = "rlperf: 0 of 12 decided · scouted · 2 s of 300 s · 12 tests need about 297 s here\n"
    assert log.getvalue() == said


def test_lines_catch_the_eye_by_their_outcome():
    styles: dict[str, set[Style]] = {}
    for line in render_sections(EVERYTHING):
        styles.setdefault((line.text.split() or [""])[0], set()).add(line.style)
    bad = {word for word, found in styles.items() if Style.BAD in found}
    assert bad == {"REGRESSED", "ALERT"}
    assert all(styles[word] == {Style.BAD} for word in bad)


def test_a_name_that_begins_like_an_outcome_does_not():
    named = a_test("REGRESSED.py::missed", verdict=verdict(Outcome.INCONCLUSIVE, "why"))
    assert {line.style for line in render_sections(run_result(named))} == {Style.PLAIN}


def test_a_missed_target_is_poor():
    kpi = KpiResult(BUILT_IN[0], Status.MISSED, "why", "t", Reading(2.0, 1.9, 2.1, 5))
    styles = [line.style for line in render_sections(run_result(kpis=(kpi,)))]
    assert styles == [Style.PLAIN, Style.PLAIN, Style.POOR]


# -- a budget that did not reach all --------------------------------------------------------------

UNREACHED = "the budget of 30 s did not reach it; all tests need about 410 s here"


def short_of_time(decided: int, unreached: int, **fields: Any) -> RunResult:
    missing = verdict(Outcome.NOT_MEASURED, UNREACHED)
    tests = [a_test(f"test_{k}") for k in range(decided)]
    tests += [a_test(f"test_late_{k}", verdict=missing) for k in range(unreached)]
    return run_result(*tests, **{"budget_s": 30.0, "needed_s": 410.0, **fields})


@pytest.mark.parametrize(
    ("unreached", "names"),
    [(1, []), (5, ["  test_late_0, test_late_1, test_late_2 and 2 more"])],
)
def test_tests_that_were_not_reached_share_one_remark(unreached: int, names: list[str]):
    lines = [line.text for line in render_table(short_of_time(2, unreached))]
    whom = "test_late_0" if unreached == 1 else f"{unreached} tests"
    assert lines[-1 - len(names) :] == [f"{whom}: not measured: {UNREACHED}", *names]


def test_a_run_that_decided_less_than_half_says_what_would_do():
    said = "only 2 of 5 tests were decided; --rlperf-budget=410 would do."
    assert render_undecided(short_of_time(2, 3)) == said
    assert render_undecided(short_of_time(3, 3)) is None
    assert render_undecided(short_of_time(2, 3, needed_s=None)) is None
    assert render_undecided(short_of_time(2, 3, interrupted=True)) is None


def test_progress_tells_what_the_suite_needs():
    line = render_progress(replace(SCOUTING, tests=93, needed_s=240.4))
    assert line.endswith(" · 93 tests need about 240 s here")
