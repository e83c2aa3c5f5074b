"""A run of some tests laid over a full result: which row is whose, and what it ends with."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.kpi import BUILT_IN, KpiResult, Status
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import ScalingTable, Vanished
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.origins import render_parts
from pytest_rlperf.report.page.document import render_page
from pytest_rlperf.report.result_file import run_as_dict, run_from
from pytest_rlperf.report.terminal import render_sections
from pytest_rlperf.shards.onto import lay_over
from pytest_rlperf.shards.union import FinishedRun, union
from tests.factories import a_test, verdict
from tests.sample_runs import RANKS, SCALING
from tests.shards.suites import FACTS, SUITE, all_of_them, alone, measured

A, B, C = SUITE[:3]
SLOWER = verdict(Outcome.REGRESSED, "surely", (0.25, 0.2, 0.3))
FINE = verdict(change=(0.01, 0.0, 0.02))
EARLIER, LATER = "2030-01-02 03:04 ffffffffff", "2030-01-05 06:07 eeeeeeeeee"


def full(*tests: Any, **fields: Any) -> FinishedRun:
    return alone(*(tests or (a_test(A), a_test(B))), **fields)


def top(*tests: Any, **fields: Any) -> FinishedRun:
    when = {"created": "2030-01-05T06:07:08+00:00", "commit": "e" * 40, "path": "part.json"}
    return alone(*tests, **{**when, **fields})


def rows(merged: FinishedRun) -> list[tuple[str, str | None]]:
    return [(test.nodeid, test.part) for test in merged.run.tests]


def test_what_was_measured_again_is_new_and_the_rest_as_it_was():
    merged = lay_over(full(), top(a_test(B, verdict=SLOWER), a_test(C), exit_code=1))
    assert rows(merged) == [(A, EARLIER), (B, LATER), (C, LATER)]
    assert merged.run.tests[1].outcome is Outcome.REGRESSED
    assert merged.exit_code == 1
    assert [part.name for part in merged.run.parts] == [EARLIER, LATER]
    assert (merged.run.commit, merged.run.created) == ("e" * 40, "2030-01-05T06:07:08+00:00")


def test_rows_keep_the_run_they_are_from_however_often_another_is_laid_over():
    once = lay_over(full(), top(a_test(B)))
    last = top(a_test(C), created="2030-02-03T04:05:06+00:00")
    twice = lay_over(once, last)
    assert rows(twice) == [(A, EARLIER), (B, LATER), (C, "2030-02-03 04:05 eeeeeeeeee")]


def test_a_run_of_which_nothing_is_left_is_told_no_more():
    merged = lay_over(full(a_test(A)), top(a_test(A)))
    assert [part.name for part in merged.run.parts] == [LATER]


def test_shards_keep_their_names_and_two_of_one_name_are_told_apart():
    suite = union(all_of_them())
    later = union(all_of_them(created="2030-01-05T06:07:08+00:00"))
    assert lay_over(full(), suite).run.tests[0].part == "shard 1"
    one = replace(later, run=replace(later.run, tests=later.run.tests[:1]))
    merged = lay_over(suite, one)
    assert rows(merged)[:2] == [
        (A, "shard 1, 2030-01-05T06:07:08+00:00"),
        (B, "shard 2"),
    ]


def test_a_single_shard_can_be_laid_over():
    merged = lay_over(full(*map(a_test, SUITE)), measured(2, created="2031-01-01T00:00:00+00:00"))
    assert [part for _, part in rows(merged)].count(EARLIER) == 6
    assert merged.run.shard is None


def test_it_reads_back_and_every_report_says_which_row_is_whose():
    merged = lay_over(full(), top(a_test(B), against="main (1234567)"))
    run = run_from(json.loads(json.dumps(run_as_dict(merged.run, merged.exit_code))))
    assert rows(replace(merged, run=run)) == rows(merged)
    terminal = "\n".join(line.text for line in render_sections(run))
    for report in (terminal, render_markdown(run), render_page(run)):
        for name in (EARLIER, LATER):
            assert name in report or name.replace("-", "&#45;") in report
    assert render_parts(run) == [
        f"from {EARLIER}: 1 test in 12 s, of ffffffffff, against main (1a2b3c4), on Some CPU",
        f"from {LATER}: 1 test in 12 s, of eeeeeeeeee, against main (1234567), on Some CPU",
    ]


def test_a_run_of_its_own_has_no_such_column():
    run = full().run
    terminal = "\n".join(line.text for line in render_sections(run))
    assert not render_parts(run)
    assert "from" not in terminal
    assert "| from |" not in render_markdown(run)


def test_the_report_of_one_shard_says_that_it_is_no_report_of_the_suite():
    run = measured(2).run
    assert render_markdown(run).startswith("## Performance, shard 2 of 4: ")
    assert "<title>Performance, shard 2 of 4: " in render_page(run)
    nothing = replace(run, tests=())
    assert render_markdown(nothing).startswith("## Performance, shard 2 of 4: no tests\n")
    assert "no tests" in render_page(nothing)


def test_what_vanished_has_no_row_and_what_came_back_is_not_gone():
    gone = (Vanished(A), Vanished("x.py::x"))
    merged = lay_over(
        full(vanished=(Vanished(C), Vanished("y.py::y"))), top(a_test(C), vanished=gone)
    )
    assert [nodeid for nodeid, _ in rows(merged)] == [B, C]
    assert merged.run.vanished == (*gone, Vanished("y.py::y"))


def test_the_kpis_of_what_was_measured_again_are_new():
    old, new = (
        [KpiResult(BUILT_IN[k], status, "told", nodeid) for k, nodeid in enumerate((A, B))]
        for status in (Status.MET, Status.MISSED)
    )
    nobody = KpiResult(BUILT_IN[0], Status.NOT_MEASURED, "no selected test claims it")
    merged = lay_over(full(kpis=tuple(old)), top(a_test(B), kpis=(new[1], nobody)))
    assert merged.run.kpis == (old[0], new[1])


def test_a_scaling_table_some_of_whose_sizes_are_new_is_left_out():
    other = ScalingTable("test_x.py::test_x[nprocs=*]", SCALING.scaling, ())
    before = full(*RANKS, scaling=(SCALING, other))
    assert lay_over(before, top(a_test(A))).run.scaling == (SCALING, other)
    assert lay_over(before, top(RANKS[1])).run.scaling == (other,)
    renewed = lay_over(before, top(*RANKS, scaling=(SCALING,)))
    assert renewed.run.scaling == (other, SCALING)


@pytest.mark.parametrize(
    ("kept", "code", "expected"),
    [
        (FINE, 0, 0),
        (FINE, 1, 1),
        (FINE, 6, 6),
        (SLOWER, 0, 1),
        (SLOWER, 2, 2),
        (verdict(Outcome.FAILED, "it raised"), 0, 1),
        (verdict(Outcome.INCONCLUSIVE, "too few"), 0, 0),
    ],
)
def test_it_fails_where_either_run_left_a_failing_test(kept: Any, code: int, expected: int):
    merged = lay_over(full(a_test(A, verdict=kept)), top(a_test(B), exit_code=code))
    assert merged.exit_code == expected


def test_a_failing_test_that_was_mended_fails_no_more():
    before = full(a_test(A, verdict=SLOWER), exit_code=1)
    assert lay_over(before, top(a_test(A, verdict=FINE))).exit_code == 0


def test_the_alert_of_a_kpi_fails_as_long_as_its_test_is_not_measured_again():
    alert = KpiResult(BUILT_IN[0], Status.ALERT, "beyond", A)
    before = full(kpis=(alert,), exit_code=1)
    assert lay_over(before, top(a_test(B))).exit_code == 1
    assert lay_over(before, top(a_test(A))).exit_code == 0


@pytest.mark.parametrize(
    ("under", "over", "said"),
    [
        (
            measured(2),
            top(a_test(B)),
            "shard2.json is shard 2 of 4 and no full result; merge its shards first.",
        ),
        (
            full(created="2030-01-06T00:00:00+00:00"),
            top(a_test(B)),
            "part.json is older than full.json, whose tests it would replace; name the newer one, "
            "and the older one with --onto.",
        ),
        (full(created="soon"), top(a_test(B)), "full.json is of 'soon', which is no time;"),
    ],
)
def test_what_cannot_be_laid_over_is_refused(under: FinishedRun, over: FinishedRun, said: str):
    with pytest.raises(UsageError) as caught:
        lay_over(under, over)
    assert said in str(caught.value)


def test_times_of_other_zones_are_the_same_moments():
    before = full(created="2030-01-05T08:00:00+02:00")
    assert lay_over(before, top(a_test(B))).run.fingerprint == FACTS
