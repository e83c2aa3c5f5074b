"""Speed-up and efficiency over the sizes of a job, and whether efficiency was lost."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.metric import EFFICIENCY, NOT_JUDGED, Metric, Outcome, Severity
from pytest_rlperf.model.result import JobSize, ScalingRow, ScalingTable, TestResult
from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.mpi.scaling import (
    difference,
    efficiencies,
    family,
    render_efficiency_lost,
    render_scaling,
    scaling_tables,
    without_oversubscribed,
)
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.result_file import run_as_dict
from pytest_rlperf.stats.estimate import Estimate
from tests.factories import a_test, block, examples, run_result, verdict

BLOCKS = 8


def sized(nprocs: int, head_ns: int, base_ns: int | None = 100, **fields: Any) -> TestResult:
    """A test of one size, whose blocks differ by about a percent."""
    rng = random.Random(nprocs)
    change = math.log(head_ns / (base_ns or head_ns))
    ratios = tuple(rng.gauss(change, 0.01) for _ in range(BLOCKS))
    size = JobSize(nprocs, **{k: fields.pop(k) for k in JobSize.__slots__ if k in fields})
    base = None if base_ns is None else [base_ns]
    known: dict[str, Any] = {
        "size": size,
        "blocks": tuple(block([head_ns], base) for _ in range(BLOCKS)),
        "log_ratios": ratios if base else (),
        "verdict": verdict(change=(math.expm1(change),) * 3),
    }
    return a_test(f"test_a.py::test_a[nprocs={nprocs}]", **(known | fields))


def rows(*tests: TestResult) -> tuple[ScalingRow, ...]:
    (table,) = scaling_tables(tests, judged=len(tests))
    return table.rows


def outcomes(*tests: TestResult) -> list[Outcome | None]:
    return [
        None if row.efficiency.outcome is Outcome.SHOWN else row.efficiency.outcome
        for row in rows(*tests)
    ]


def test_the_same_work_over_more_ranks():
    one, two, four = rows(sized(4, 40), sized(1, 100), sized(2, 50))
    assert (one.speedup, two.speedup, four.speedup) == pytest.approx((1, 2, 2.5))
    shares = [row.efficiency.value for row in (one, two, four)]
    assert shares == pytest.approx([1, 1, 0.625])


def test_the_same_work_on_each_of_more_ranks():
    one, two = rows(sized(1, 100, scaling=Scaling.WEAK), sized(2, 125, scaling=Scaling.WEAK))
    assert two.speedup == pytest.approx(1.6)
    assert two.efficiency.value == pytest.approx(0.8)
    assert one.efficiency.value == 1


def test_throughput_is_that_of_the_declared_steps_or_of_calls():
    one, two = rows(sized(1, 100, steps=50), sized(2, 50))
    assert (one.throughput, two.throughput) == pytest.approx((0.5e9, 2e7))
    assert (one.unit, two.unit) == ("steps/s", "calls/s")


def test_one_size_alone_has_no_table():
    assert scaling_tables([sized(2, 50), a_test()], judged=2) == ()


def test_sizes_that_were_not_measured_are_left_out():
    assert scaling_tables([sized(1, 100), sized(2, 50, blocks=())], judged=2) == ()


def test_sizes_belong_together_whatever_else_is_parametrized():
    assert family("t.py::test[a-nprocs=2]") == family("t.py::test[a-nprocs=16]")
    assert family("t.py::test[a-nprocs=2]") != family("t.py::test[b-nprocs=2]")
    assert family("t.py::test[nprocs=2-x]") == "t.py::test[nprocs=*-x]"


def test_every_size_but_the_smallest_has_a_verdict_on_its_efficiency():
    sizes = [(f"test[nprocs={n}]", JobSize(n)) for n in (1, 2, 4)]
    assert efficiencies([*sizes, ("other[nprocs=2]", JobSize(2)), ("plain", None)]) == 2


@pytest.mark.parametrize(
    ("one", "two", "outcome"),
    [
        pytest.param(100, 120, Outcome.REGRESSED, id="slower together"),
        pytest.param(120, 120, Outcome.UNCHANGED, id="slower at every size"),
        pytest.param(80, 100, Outcome.UNCHANGED, id="smallest became faster alone"),
    ],
)
def test_only_efficiency_that_is_lost_beyond_doubt_regresses(one: int, two: int, outcome: Outcome):
    assert outcomes(sized(1, one), sized(2, two)) == [None, outcome]


def test_more_ranks_than_cores_are_judged_on_request_only():
    crowded = sized(4, 120, oversubscribed=True)
    assert outcomes(sized(1, 100), crowded) == [None, Outcome.ACCEPTED]
    asked = sized(4, 120, oversubscribed=True, gate_oversubscribed=True)
    assert outcomes(sized(1, 100), asked) == [None, Outcome.REGRESSED]


def test_without_a_base_there_is_nothing_to_judge():
    assert outcomes(sized(1, 100, base_ns=None), sized(2, 50, base_ns=None)) == [None, None]


def test_a_regression_of_more_ranks_than_cores_fails_no_build():
    slower = verdict(Outcome.REGRESSED, "slower", change=(0.2, 0.1, 0.3))
    plain = a_test(verdict=slower)
    crowded = sized(4, 120, oversubscribed=True, verdict=slower)
    asked = sized(4, 120, oversubscribed=True, gate_oversubscribed=True, verdict=slower)
    found = without_oversubscribed([plain, crowded, asked])
    assert [test.headline.outcome for test in found] == [
        Outcome.REGRESSED,
        Outcome.ACCEPTED,
        Outcome.REGRESSED,
    ]
    assert "4 ranks share fewer cores" in found[1].headline.reason


errors = st.floats(1e-6, 1.0)
freedoms = st.integers(1, 50)


@examples
@given(errors, freedoms, errors, freedoms)
def test_a_difference_knows_less_than_either_mean(
    one_error: float, one_freedom: int, other_error: float, other_freedom: int
):
    one = Estimate(0.3, one_error, one_freedom)
    other = Estimate(0.1, other_error, other_freedom)
    apart = difference(one, other)
    assert apart.mean == pytest.approx(0.2)
    assert apart.error >= max(one_error, other_error)
    assert min(one_freedom, other_freedom) - 1 <= apart.freedom <= one_freedom + other_freedom


def test_two_means_without_spread_differ_exactly():
    assert difference(Estimate(0.3, 0.0, 4), Estimate(0.1, 0.0, 9)).freedom == 4


# -- as people and programs read it -------------------------------------------------------------


WHOLE = Metric(EFFICIENCY, NOT_JUDGED, value=1.0)
ONE = ScalingRow("t.py::t[nprocs=1]", JobSize(1), 1e7, 1.0, WHOLE, 100.0, "calls/s")
LOST = verdict(
    Outcome.REGRESSED,
    "less efficient than the allowed +5.0 %, beyond doubt",
    change=(0.12, 0.1, 0.14),
    severity=Severity.MEDIUM,
)
FOUR = ScalingRow(
    "t.py::t[nprocs=4]",
    JobSize(4, oversubscribed=True, gate_oversubscribed=True),
    5e6,
    2.0,
    Metric(EFFICIENCY, LOST, value=0.5),
    200.0,
    "calls/s",
)
RUN = run_result(scaling=(ScalingTable("t.py::t[nprocs=*]", Scaling.STRONG, (ONE, FOUR)),))


def test_the_table_has_a_row_a_size():
    assert render_scaling(RUN) == [
        "strong scaling of t.py::t[nprocs=*]",
        "nprocs  time a call  speed-up  efficiency  throughput   efficiency lost",
        "1       10 ms        1.00      100 %       100 calls/s",
        "4       5 ms         2.00      50.0 %      200 calls/s  "
        "+12.0 % [+10.0, +14.0 %] REGRESSED  oversubscribed",
    ]


def test_two_tables_stand_apart():
    twice = replace(RUN, scaling=RUN.scaling * 2)
    assert render_scaling(twice).count("") == 1
    assert render_scaling(run_result()) == []


def test_a_test_that_lost_efficiency_says_how_much():
    assert render_efficiency_lost(RUN, "t.py::t[nprocs=4]") == [
        "REGRESSED (medium): efficiency with 4 ranks +12.0 % [+10.0, +14.0 %] worse, "
        "allowed +5.0 %\n  why: less efficient than the allowed +5.0 %, beyond doubt"
    ]
    assert render_efficiency_lost(RUN, "t.py::t[nprocs=1]") == []


def test_the_report_for_people_has_the_table():
    assert "### Scaling\n\n```\nstrong scaling of t.py::t[nprocs=*]" in render_markdown(RUN)


def test_programs_get_every_figure():
    (table,) = run_as_dict(RUN, 0)["scaling"]
    assert (table["test"], table["scaling"]) == ("t.py::t[nprocs=*]", "strong")
    one, four = table["rows"]
    assert (one["nprocs"], one["efficiency"], one["outcome"]) == (1, 1.0, None)
    assert four["oversubscribed"]
    assert four["gated"]
    assert (four["outcome"], four["change"], four["threshold"]) == ("regressed", 0.12, 0.05)
