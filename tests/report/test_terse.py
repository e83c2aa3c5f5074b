"""A run as a few stable lines: which tests have one, what is in it, and how it is read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.metric import EFFICIENCY, Metric, Outcome, Severity
from pytest_rlperf.model.result import JobSize, ScalingRow, ScalingTable
from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.report.terse import MOST_WORDS, TerseLine, parse_terse, render_terse
from tests.factories import a_test, block, examples, run_result, verdict
from tests.sample_runs import EVERYTHING, many_tests

TOLD = """\
rlperf regressed test=tests/perf/test_tabular.py::test_training_on_tictactoe[numpy] metric=time change=+35.2% low=+32.1% high=+38.5% allowed=+5.0% detects=+13.6% blocks=10 severity=high
rlperf regressed test=tests/perf/test_envs.py::test_reset[rlperf_size=4096] metric=exponent change=+1.00 low=+0.95 high=+1.05 allowed=+0.1 blocks=3 severity=high why="grows faster with the size than the allowed +0.1, beyond doubt: O(n) became O(n^2)"
rlperf regressed test=tests/perf/test_replay.py::test_memory_of_a_full_ring metric=peak_rss change=+30.0% low=+29.0% high=+31.0% amount=+12MiB blocks=3 severity=medium why="more than the allowed 20.0 %"
rlperf failed test=tests/perf/test_new.py::test_broken why="AssertionError: learned <too> little"
rlperf accepted test=tests/perf/test_tabular.py::test_saving metric=time change=+8.2% low=+7.2% high=+9.2% allowed=+5.0% detects=+6.0% blocks=8 why="accepted until 2031-01-01: safer files"
rlperf inconclusive test=tests/perf/test_replay.py::test_replay_gather metric=time change=+4.8% low=+1.2% high=+8.4% allowed=+5.0% detects=+14.0% blocks=8 why="the budget ran out after 8 blocks; raise --rlperf-budget"
rlperf no_baseline test=tests/perf/test_new.py::test_new metric=time why="it cannot be collected on the base: no `new`"
rlperf improved test=tests/perf/test_mlp.py::test_forward[batch=64] metric=time change=-22.1% low=-23.4% high=-20.8% allowed=+5.0% detects=+7.0% blocks=8
rlperf alert test=tests/perf/test_tabular.py::test_training_on_tictactoe[numpy] kpi=environment_step limit="> 5 ms" value="6.1 ± 0.2 ms a step"
rlperf vanished test=tests/perf/test_old.py::test_a renamed_to=tests/perf/test_new.py::test_new
rlperf error why="tests/perf/test_x.py: SyntaxError: invalid syntax"
rlperf note text="something to know"
rlperf total tests=13 regressed=3 failed=1 accepted=1 inconclusive=1 no_baseline=1 improved=1 unchanged=4 skipped=1 alerts=1 against="main (1a2b3c4)" seconds=182 exit=1\
"""  # noqa: E501


def test_what_is_not_plainly_fine_has_a_line_the_worst_first_and_the_rest_is_counted():
    errors = ["tests/perf/test_x.py: SyntaxError: invalid syntax"]
    lines = render_terse(EVERYTHING, 1, ["something to know"], errors)
    assert "\n".join(lines) == TOLD


def test_a_run_of_unchanged_tests_is_one_line():
    same = a_test(verdict=verdict(change=(0.0, -0.01, 0.01)), blocks=(block([2], [2]),))
    assert render_terse(run_result(same, same), 0) == [
        'rlperf total tests=2 unchanged=2 against="main (1a2b3c4)" seconds=12 exit=0'
    ]


def test_without_a_selected_test_there_are_counts_all_the_same():
    assert render_terse(None, 5) == ["rlperf total tests=0 exit=5"]


@pytest.mark.parametrize(("against", "lines"), [("main", 3), (None, 1)])
def test_where_nothing_can_have_a_baseline_no_line_says_it_of_each(against: str | None, lines: int):
    new = a_test(verdict=verdict(Outcome.NO_BASELINE, "measured, with nothing to compare with"))
    assert len(render_terse(run_result(new, new, against=against), 0)) == lines


def test_several_metrics_that_regressed_are_named_in_the_line_of_the_worst():
    larger = Metric("peak_rss", verdict(Outcome.REGRESSED, severity=Severity.NOTICE))
    slower = verdict(Outcome.REGRESSED, change=(0.3, 0.2, 0.4), severity=Severity.HIGH)
    (line, _) = render_terse(run_result(a_test(verdict=slower, beside=(larger,))), 1)
    found = parse_terse(line)
    assert found is not None
    assert (found.fields["metric"], found.fields["also"]) == ("time", "peak_rss")


def test_a_job_that_lost_its_efficiency_regressed_though_its_time_is_within_what_is_allowed():
    lost = verdict(Outcome.REGRESSED, "less of the ranks is used", (0.2, 0.15, 0.25))
    row = ScalingRow(
        nodeid="t.py::job",
        size=JobSize(2),
        time_ns=1e6,
        speedup=1.2,
        efficiency=Metric(EFFICIENCY, lost, value=0.6),
        throughput=1.0,
        unit="calls/s",
    )
    table = ScalingTable("t.py::job", Scaling.STRONG, (row,))
    line, total = render_terse(run_result(a_test("t.py::job"), scaling=(table,)), 1)
    assert line.startswith("rlperf regressed test=t.py::job metric=efficiency change=+20.0% ")
    assert " regressed=1 " in total


def test_a_reason_is_cut_and_stays_on_one_line():
    long = a_test(verdict=verdict(Outcome.NOT_MEASURED, "a b\n" * 1000))
    found = parse_terse(render_terse(run_result(long), 6)[0])
    assert found is not None
    assert len(found.fields["why"]) == MOST_WORDS
    assert found.fields["why"].endswith("…")


def test_a_suite_of_hundreds_has_lines_for_what_regressed_only():
    words = [line.split()[1] for line in render_terse(many_tests(500), 1)]
    assert words.count("regressed") == 20
    assert set(words) == {"regressed", "alert", "vanished", "total"}


keys = st.from_regex(r"[a-z_]+", fullmatch=True)


@examples
@given(keys, st.dictionaries(keys, st.text()))
def test_a_line_can_be_read_back_whatever_a_test_is_called(word: str, fields: dict[str, str]):
    line = TerseLine(word, fields)
    text = str(line)
    assert parse_terse(text) == line
    assert text.splitlines() == [text]
    assert text.isprintable() or not any(ord(letter) < 32 for letter in text)


@pytest.mark.parametrize("text", ["rlperf: budget 3 s", "rlperf", "", "PASSED", "rlperf total x"])
def test_other_lines_are_none_of_ours(text: str):
    assert parse_terse(text) is None
