"""KPIs: where the values come from, and when they are an alert."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.kpis import judge_kpis
from pytest_rlperf.model.kpi import BUILT_IN, Kpi, KpiResult, Metric, Status
from pytest_rlperf.model.result import Failure, TestResult
from pytest_rlperf.model.spec import Spec
from tests.factories import a_test, block, examples

KPIS = {kpi.name: kpi for kpi in BUILT_IN}
MS = 10**6


def measured(kpi: str, call_ms: Sequence[float], **fields: Any) -> TestResult:
    """A test of as many blocks as there are times."""
    blocks = tuple(block([round(ms * MS)] * 3, None) for ms in call_ms)
    name = fields.pop("nodeid", "test_a.py::test_a")
    return a_test(name, spec=Spec(kpi=(kpi,)), blocks=blocks, **fields)


def around(value: float, number: int = 5, spread: float = 0.01) -> list[float]:
    rng = random.Random(0)
    return [value * (1 + rng.gauss(0, spread)) for _ in range(number)]


def judged(*tests: TestResult, kpis: dict[str, Kpi] = KPIS) -> KpiResult:
    (result,) = judge_kpis(tests, kpis)
    return result


@pytest.mark.parametrize(
    ("name", "metric", "target", "alert", "unit"),
    [
        ("environment_step", "step_time", 1, 5, "ms"),
        ("policy_forward", "step_time", 0.1, 1, "ms"),
        ("safety_overhead", "overhead", 10, 25, "%"),
        ("memory_per_episode", "memory", 100, 500, "MB"),
        ("compilation", "first_call", 5, 30, "s"),
        ("training_throughput", "throughput", 1000, 100, "steps/s"),
    ],
)
def test_six_kpis_are_built_in(name: str, metric: str, target: float, alert: float, unit: str):
    assert KPIS[name] == Kpi(name, Metric(metric), target, alert, unit)
    assert len(KPIS) == 6


@pytest.mark.parametrize(
    ("call_ms", "status"),
    [(0.9, Status.MET), (1.2, Status.MISSED), (4.0, Status.MISSED), (6.0, Status.ALERT)],
)
def test_a_value_meets_misses_or_alerts(call_ms: float, status: Status):
    result = judged(measured("environment_step", around(call_ms)))
    assert result.status is status
    assert result.nodeid == "test_a.py::test_a"
    assert result.reading is not None
    assert result.reading.value == pytest.approx(call_ms, rel=0.02)
    assert result.reading.low < result.reading.value < result.reading.high
    assert result.reading.blocks == 5


def test_a_value_beyond_the_alert_is_none_while_its_interval_holds_it():
    result = judged(measured("environment_step", [5.0, 5.4, 5.6, 5.9, 6.5]))
    assert result.reading is not None
    assert result.reading.low < 5 < result.reading.value
    assert result.status is Status.MISSED
    assert result.reason == "beyond the alert, which its interval still holds"


def test_the_time_of_a_step_is_a_share_of_the_call():
    result = judged(measured("environment_step", around(200), steps=100))
    assert result.reading is not None
    assert result.reading.value == pytest.approx(2, rel=0.02)


def test_the_time_of_a_call_knows_no_steps():
    kpis = {"episode": Kpi("episode", Metric.TIME, 0.1, 0.3, "s")}
    result = judged(measured("episode", around(200), steps=100), kpis=kpis)
    assert result.reading is not None
    assert result.reading.value == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize(
    ("call_ms", "status"),
    [(50, Status.MET), (200, Status.MISSED), (2000, Status.ALERT)],
)
def test_more_throughput_is_better(call_ms: float, status: Status):
    result = judged(measured("training_throughput", around(call_ms), steps=100))
    assert result.status is status
    assert result.reading is not None
    assert result.reading.value == pytest.approx(100 / (call_ms / 1000), rel=0.02)


@pytest.mark.parametrize(
    ("first_s", "status"),
    [(2, Status.MET), (6, Status.MISSED), (33, Status.MISSED), (90, Status.ALERT)],
)
def test_a_first_call_happens_once_and_is_taken_with_caution(first_s: float, status: Status):
    result = judged(measured("compilation", around(1), first_call_ns=first_s * 1e9))
    assert result.status is status
    assert result.reading is not None
    assert result.reading.value == pytest.approx(first_s)
    assert result.reading.low < 0.75 * first_s
    assert result.reading.blocks == 1


def test_memory_is_in_its_unit():
    result = judged(measured("memory_per_episode", around(1), memory_bytes=(6e8, 6.1e8, 6e8)))
    assert result.status is Status.ALERT
    assert result.reading is not None
    assert result.reading.value == pytest.approx(600, rel=0.02)


@pytest.mark.parametrize(
    ("extra", "status"), [(1.05, Status.MET), (1.2, Status.MISSED), (1.5, Status.ALERT)]
)
def test_an_overhead_is_how_much_longer_one_test_takes_than_another(extra: float, status: Status):
    result = judged(
        measured("safety_overhead:without", around(2), nodeid="without"),
        measured("safety_overhead", around(2 * extra), nodeid="with"),
    )
    assert result.status is status
    assert result.nodeid == "with"
    assert result.reading is not None
    assert result.reading.value == pytest.approx(100 * (extra - 1), abs=1)


def test_an_overhead_is_as_uncertain_as_both_of_its_tests():
    noisy = measured("safety_overhead:without", around(2, spread=0.3), nodeid="without")
    result = judged(noisy, measured("safety_overhead", around(3, spread=0.001), nodeid="with"))
    assert result.status is not Status.ALERT


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (measured("environment_step", []), "the time of test_a.py::test_a was not measured"),
        (
            measured("environment_step", [1, 1, 1], failure=Failure("boom")),
            "test_a.py::test_a failed",
        ),
        (measured("environment_step", [], skipped="not here"), "test_a.py::test_a was skipped"),
        (
            measured("training_throughput", [1, 1, 1]),
            "test_a.py::test_a does not say how many steps a call makes",
        ),
        (measured("compilation", [1, 1, 1]), "the time of test_a.py::test_a was not measured"),
        (
            measured("memory_per_episode", [1, 1, 1]),
            "test_a.py::test_a does not ask for its memory; mark it with memory=True",
        ),
        (
            measured("safety_overhead", [1, 1, 1]),
            "no selected test does the same without; mark one with kpi='safety_overhead:without'",
        ),
    ],
)
def test_what_was_not_measured_neither_passes_nor_fails(test: TestResult, reason: str):
    result = judged(test)
    assert result.status is Status.NOT_MEASURED
    assert result.reason == reason
    assert result.reading is None


def test_a_partner_that_failed_leaves_the_overhead_open():
    without = measured("safety_overhead:without", [], nodeid="without", failure=Failure("boom"))
    result = judged(without, measured("safety_overhead", [1, 1, 1], nodeid="with"))
    assert (result.status, result.reason) == (Status.NOT_MEASURED, "without failed")


def test_a_partner_alone_is_told_what_is_missing():
    result = judged(measured("safety_overhead:without", [1, 1, 1]))
    assert result.status is Status.NOT_MEASURED
    assert result.nodeid is None
    assert result.reason == "no selected test claims it; mark one with kpi='safety_overhead'"


def test_a_kpi_of_the_project_that_no_test_claims_is_reported():
    (result,) = judge_kpis([a_test()], KPIS, expected=frozenset({"compilation"}))
    assert (result.kpi.name, result.status) == ("compilation", Status.NOT_MEASURED)


def test_several_tests_and_kpis_give_a_result_each():
    spec = Spec(kpi=("environment_step", "training_throughput"))
    blocks = tuple(block([MS], None) for _ in range(3))
    tests = [a_test(name, spec=spec, blocks=blocks, steps=10) for name in ("a", "b")]
    found = [(result.nodeid, result.kpi.name) for result in judge_kpis(tests, KPIS)]
    assert found == [(t, k) for t in ("a", "b") for k in spec.kpi]


@examples
@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=12),
    st.floats(1, 1000),
    st.sampled_from([Metric.TIME, Metric.THROUGHPUT]),
)
def test_slower_is_never_judged_better(call_ms: list[float], times: float, metric: Metric):
    lower = metric is Metric.TIME
    unit = "ms" if lower else "steps/s"
    kpi = Kpi("k", metric, 1 if lower else 1000, 5 if lower else 200, unit)
    severity = [Status.MET, Status.MISSED, Status.ALERT]
    statuses = [
        judged(measured("k", [ms * factor for ms in call_ms], steps=1), kpis={"k": kpi}).status
        for factor in (1, times)
    ]
    assert severity.index(statuses[0]) <= severity.index(statuses[1])
