"""What the history keeps of a result."""

from typing import Any

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.block import Reference
from pytest_rlperf.model.drift import Drift, SideDrift
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import Interval, Outcome
from pytest_rlperf.report.export import run_as_dict
from pytest_rlperf.store.history_entries import entries_of
from tests.factories import FACTS, a_test, block, run_result, verdict

MEASURED = a_test(
    spec=Spec(category="agents"),
    verdict=verdict(Outcome.REGRESSED, "slower", (0.25, 0.24, 0.26)),
    blocks=tuple(block([500], [400], steal=steal) for steal in (0.0, 0.03, 0.01)),
    steps=7,
    source_hash="abc",
)
RUN = run_result(MEASURED, fingerprint=FACTS, base_commit="b" * 40)
TEST = run_as_dict(RUN, 0)["tests"][0]


def entries(run: RunResult, **fields: Any) -> Any:
    return entries_of({**run_as_dict(run, 0), **fields}, "result.json", committed=None)


def test_a_measured_test_is_kept_with_what_trends_need():
    (test,) = entries(RUN)
    assert (test.nodeid, test.commit, test.base) == (MEASURED.nodeid, "f" * 40, "b" * 40)
    assert (test.machine, test.python) == ("some-cpu-2-cores-x86-64", "3.11.7, GCC 12.2.0")
    assert (test.category, test.source_hash, test.mode) == ("agents", "abc", "against")
    assert (test.steal, test.drift, test.reference) == (0.03, None, None)


def test_time_is_kept_once_with_its_verdict_and_without_its_blocks():
    ((time,),) = (test.metrics for test in entries(RUN))
    assert (time.name, time.unit, time.value, time.outcome) == ("time", "ns", 500, "regressed")
    assert (time.change, time.low, time.high, time.threshold) == (0.25, 0.24, 0.26, 0.05)
    assert time.blocks == 3


def test_the_time_over_every_kernel_is_kept_with_the_unit_it_was_judged_in():
    played = [
        block([1000], None, reference=Reference({"stride": (ns,), "interpreter": (500,)}))
        for ns in (90, 100, 110)
    ]
    test = a_test(blocks=tuple(played), unit={"stride": 1.0})
    (kept,) = entries(run_result(test))
    assert kept.reference.log_ratios == pytest.approx(
        {"clock": 6.907755, "stride": 2.305944, "interpreter": 0.693147}, abs=1e-5
    )
    assert kept.reference.weights == {"stride": 1.0}


@pytest.mark.parametrize(("matters", "kept"), [(True, 0.2), (False, None)])
def test_drift_is_kept_where_it_matters(matters: bool, kept: float | None):
    drift = Drift(8, SideDrift(Interval(0.2, 0.1, 0.3), matters))
    (test,) = entries(run_result(a_test(blocks=MEASURED.blocks, drift=drift)))
    assert test.drift == kept


def test_what_was_not_measured_is_not_kept():
    (test,) = entries(run_result(a_test("test_b.py::test_skipped", skipped="no GPU"), MEASURED))
    assert test.nodeid == MEASURED.nodeid


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"dirty": True}, "was measured with uncommitted changes, so it belongs to no commit"),
        ({"commit": None}, "was measured outside of a repository, so it belongs to no commit"),
        ({"mode": "prove"}, "is a proof of the gate, not a measurement"),
        ({"tests": []}, "holds no test that was measured; there is nothing to append"),
    ],
)
def test_what_is_no_measurement_of_a_commit_is_refused(fields: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=rf"result\.json {said}"):
        entries(RUN, **fields)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"created": "yesterday"}, r"is damaged at created of test_a\.py::test_a"),
        ({"commit": 5}, "is damaged at commit of"),
        ({"base_commit": []}, "is damaged at base of"),
        ({"tests": [{**TEST, "witnesses": {"steal": "much"}}]}, "is damaged at steal of"),
        ({"tests": [{**TEST, "witnesses": None}]}, "holds what no run writes"),
        ({"tests": [{**TEST, "drift": {"head": {}}}]}, "holds what no run writes"),
        ({"tests": [{**TEST, "reference": {}}]}, "holds what no run writes"),
    ],
)
def test_what_nobody_could_read_back_is_not_kept(fields: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=rf"result\.json {said}.*; write it with pytest"):
        entries(RUN, **fields)
