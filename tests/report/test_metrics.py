"""What is judged beside time, as text and data."""

from dataclasses import replace

from pytest_rlperf.model.memory import MIB, Evidence, MemoryResult, Site
from pytest_rlperf.model.metric import (
    EXPONENT,
    PEAK,
    GrowthCurve,
    Interval,
    Metric,
    Outcome,
    Severity,
    Verdict,
)
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.github import render_annotations
from pytest_rlperf.report.metrics import (
    MEMORY,
    SIZES_AND_STARTS,
    metric_remarks,
    metric_rows,
    render_metric_table,
)
from pytest_rlperf.report.result_file import run_as_dict
from pytest_rlperf.report.terminal import render_failure
from pytest_rlperf.report.text import render_summary
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


# Memory, by the same functions.

GROWN = Metric(
    PEAK,
    Verdict(
        Outcome.REGRESSED,
        "more than the allowed +20.0 % and 1 MiB, beyond doubt",
        interval=Interval(0.5, 0.4, 0.6),
        severity=Severity.MEDIUM,
        label="upper bound",
    ),
    head=(3.0 * MIB,) * 3,
    base=(2.0 * MIB,) * 3,
    value=3.0 * MIB,
    base_value=2.0 * MIB,
    amount=Interval(MIB, 0.9 * MIB, 1.1 * MIB),
    threshold_abs=MIB,
)
LEAK = Metric("growth", Verdict(Outcome.INCONCLUSIVE, "too few"), head=(0.0,), value=0.0)
HELD = Evidence(sites=(Site("a.py:1", MIB, 1),), left=("psm_1",))
LARGER = a_test(beside=(GROWN, LEAK), memory=MemoryResult(20, head=HELD))


def test_memory_has_a_table_in_bytes_without_what_is_allowed():
    lines = render_metric_table(run_result(LARGER), MEMORY)
    assert [" ".join(line.text.split()) for line in lines] == [
        "memory change 95 % interval base → head processes test",
        "REGRESSED peak_rss +50.0 % [+922 KiB, +1.1 MiB] 2 MiB → 3 MiB 3 test_a.py::test_a",
        "inconclusive growth 0 B a repeat 1 test_a.py::test_a",
        "test_a.py::test_a: growth inconclusive: too few",
    ]


def test_a_failure_for_memory_names_what_holds_it():
    assert render_failure(LARGER, "main").splitlines() == [
        "REGRESSED (medium): peak_rss +50.0 % [+922 KiB, +1.1 MiB] against main",
        "  why: more than the allowed +20.0 % and 1 MiB, beyond doubt",
        "  peak_rss: 2 MiB → 3 MiB, 3 processes of 20 calls (upper bound)",
        "  left in /dev/shm: psm_1",
        "  held after the calls: a.py:1 (1 MiB)",
        "  repeat: pytest --rlperf test_a.py::test_a",
    ]


def test_github_is_told_that_it_is_larger():
    (line,) = render_annotations(run_result(LARGER), {}, {"GITHUB_ACTIONS": "true"})
    assert line.startswith("::error title=Larger%3A test_a.py%3A%3Atest_a::")


def test_unchanged_memory_has_a_row_for_its_peaks_alone():
    same = Verdict(Outcome.UNCHANGED, "within the allowed")
    quiet = a_test(beside=(replace(GROWN, verdict=same), replace(LEAK, verdict=same)))
    assert [row[1] for row in metric_rows([quiet], MEMORY)] == ["memory", "peak_rss"]


def test_why_memory_was_not_measured_stands_below():
    trouble = Verdict(Outcome.INCONCLUSIVE, "the budget ran out")
    test = a_test(memory=MemoryResult(0, trouble=trouble))
    assert list(metric_remarks(test, MEMORY)) == ["memory inconclusive: the budget ran out"]
    assert list(metric_remarks(replace(test, skipped="why"), MEMORY)) == []
