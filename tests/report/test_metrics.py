"""What is judged beside time and memory, as text and data."""

from dataclasses import replace

from pytest_rlperf.model.metric import (
    EXPONENT,
    GrowthCurve,
    Interval,
    Metric,
    Outcome,
    Severity,
    Verdict,
)
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.github import render_annotations
from pytest_rlperf.report.headline import render_summary
from pytest_rlperf.report.metrics import SIZES_AND_STARTS, render_metric_table
from pytest_rlperf.report.result_file import run_as_dict
from pytest_rlperf.report.terminal import render_failure
from tests.factories import a_test, run_result

STEEPER = Metric(
    name=EXPONENT,
    head=(0.97, 0.98, 0.99),
    verdict=Verdict(
        Outcome.REGRESSED, "O(1) became O(n)", severity=Severity.HIGH, label="sizes 100, 1000"
    ),
    base=(0.02, 0.02, 0.02),
    value=0.98,
    base_value=0.02,
    amount=Interval(0.96, 0.95, 0.97),
    threshold_abs=0.1,
    curve=GrowthCurve((100, 1000)),
)
TEST = a_test(beside=(STEEPER,))


def table(*tests: TestResult) -> list[str]:
    lines = render_metric_table(run_result(*tests), SIZES_AND_STARTS)
    return [" ".join(line.text.split()) for line in lines]


def test_an_exponent_has_a_line_that_names_the_laws():
    assert table(TEST) == [
        "metric change 95 % interval allowed base → head blocks test",
        "REGRESSED exponent +0.96 [+0.95, +0.97] +0.1 0.02 O(1) → 0.98 O(n) 3 test_a.py::test_a",
    ]


def test_what_was_not_compared_says_why_below_the_table():
    verdict = Verdict(Outcome.NO_BASELINE, "size 100: it failed")
    alone = replace(STEEPER, verdict=verdict, base_value=None, amount=None)
    lines = table(a_test(beside=(alone,)))
    assert lines[1] == "no baseline exponent 0.98 O(n) 3 test_a.py::test_a"
    assert lines[2] == "test_a.py::test_a: exponent no baseline: size 100: it failed"


def test_a_run_without_extras_has_no_table():
    assert table(a_test()) == []


def test_it_makes_the_test_regress():
    assert TEST.outcome is Outcome.REGRESSED
    assert render_summary(run_result(TEST)) == "1 regressed"


def test_the_failure_tells_of_it_alone_where_time_did_not_regress():
    assert render_failure(TEST, "main").splitlines() == [
        "REGRESSED (high): exponent +0.96 [+0.95, +0.97] against main, allowed +0.1",
        "  why: O(1) became O(n)",
        "  exponent: 0.02 O(1) → 0.98 O(n), 3 blocks of sizes 100, 1000",
        "  repeat: pytest --rlperf test_a.py::test_a",
    ]


def test_github_is_told_that_it_is_slower():
    (line,) = render_annotations(run_result(TEST), {}, {"GITHUB_ACTIONS": "true"})
    assert line.startswith("::error title=Slower%3A test_a.py%3A%3Atest_a::")


def test_the_result_has_a_row_for_it():
    _, row = run_as_dict(run_result(TEST), 0)["tests"][0]["metrics"]
    assert (row["name"], row["unit"], row["value"], row["base_value"]) == (
        "exponent", None, 0.98, 0.02,
    )  # fmt: skip
    assert (row["change"], row["change_abs"], row["threshold_abs"]) == (None, 0.96, 0.1)
    assert row["head_blocks"] == [0.97, 0.98, 0.99]
    assert row["label"] == "sizes 100, 1000"
