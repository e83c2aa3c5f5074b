"""A project's tables, applied to a run: accepted regressions and KPIs."""

import datetime
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import UsageError
from pytest_rlperf.gate.rules import (
    Rules,
    accepted_verdict,
    entry_for,
    judge_kpis,
    stale_entries,
    with_accepted,
)
from pytest_rlperf.gate.selection import Scope
from pytest_rlperf.model.kpi import BUILT_IN, Kpi, KpiMetric, KpiResult, Status
from pytest_rlperf.model.metric import COMPARED, UNSURE, Outcome, Severity, Verdict
from pytest_rlperf.model.result import Failure, TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.project import Exemption, Project
from tests.factories import a_test, block, examples, run_result, verdict

DAY = datetime.date(2030, 1, 31)
NODE = "tests/perf/test_a.py::test_a"
RESET = Kpi("reset", KpiMetric.TIME, target=1, alert=5, unit="ms")
RULES = Rules(
    Project(
        kpis={"reset": RESET},
        accepted=(
            Exemption(NODE, DAY, "new checks"),
            Exemption("tests/perf/test_gone.py::*", DAY, "new checks"),
            Exemption("elsewhere/test_b.py::*", DAY, "new checks"),
        ),
    ),
    DAY,
)
SLOWER = a_test(
    NODE,
    spec=Spec(kpi=("reset",)),
    verdict=verdict(Outcome.REGRESSED, "slower", (0.2, 0.1, 0.3)),
    blocks=(block([9 * 10**6], None),) * 3,
)


def test_a_run_gets_its_kpis_and_its_accepted_regressions():
    run = RULES.applied(run_result(SLOWER))
    assert [test.headline.outcome for test in run.tests] == [Outcome.ACCEPTED]
    assert [result.status for result in run.kpis] == [Status.ALERT]


def test_claims_are_checked_against_the_projects_kpis():
    RULES.check({NODE: Spec(kpi=("reset",))})
    with pytest.raises(UsageError, match="there is no KPI 'rest'; did you mean 'reset'"):
        RULES.check({NODE: Spec(kpi=("rest",))})


def test_entries_without_a_test_are_named_only_where_all_tests_were_collected():
    nodeids = [SLOWER.nodeid]
    (notice,) = RULES.notices(nodeids, Scope(whole=True, places=(Path("tests/perf"),)))
    assert "'tests/perf/test_gone.py::*': no collected test matches it" in notice
    assert len(RULES.notices(nodeids, Scope(whole=True, places=(Path(),)))) == 2
    assert RULES.notices(nodeids, Scope(whole=False, places=(Path(),))) == ()


# -- accepted regressions: shown as such until their day, never silently passed -----------------


PARAMETRIZED = "tests/test_a.py::test_a[x[0]-big]"
ENTRY = Exemption(PARAMETRIZED, DAY, "waiting for numpy 3")
SLOWER_VERDICT = verdict(
    Outcome.REGRESSED, "slower than the allowed +5.0 %", (0.25, 0.2, 0.3), severity=Severity.HIGH
)


def test_a_regression_becomes_an_accepted_one_that_says_why():
    found = accepted_verdict(SLOWER_VERDICT, ENTRY, DAY)
    assert found.outcome is Outcome.ACCEPTED
    assert found.reason == (
        "slower than the allowed +5.0 %, but accepted until 2030-01-31: waiting for numpy 3"
    )


def test_the_numbers_of_an_accepted_regression_stay():
    found = accepted_verdict(SLOWER_VERDICT, ENTRY, DAY)
    assert found.interval == SLOWER_VERDICT.interval
    assert found.severity is Severity.HIGH


def test_the_day_after_it_fails_again_and_says_what_to_do():
    found = accepted_verdict(SLOWER_VERDICT, ENTRY, DAY + datetime.timedelta(days=1))
    assert found.outcome is Outcome.REGRESSED
    assert found.reason == (
        "slower than the allowed +5.0 %; it was accepted until 2030-01-31 only "
        "(waiting for numpy 3): mend it, or renew the entry in [tool.rlperf.accepted]"
    )


@pytest.mark.parametrize(
    ("allowed", "outcome"),
    [
        (0.35, Outcome.ACCEPTED),
        (0.22, Outcome.ACCEPTED),  # its interval holds it
        (0.19, Outcome.REGRESSED),
    ],
)
def test_more_than_the_entry_allows_is_not_accepted(allowed: float, outcome: Outcome):
    found = accepted_verdict(SLOWER_VERDICT, Exemption(PARAMETRIZED, DAY, "reason", allowed), DAY)
    assert found.outcome is outcome


def test_a_regression_beyond_the_entry_names_both_limits():
    found = accepted_verdict(SLOWER_VERDICT, Exemption(PARAMETRIZED, DAY, "new checks", 0.1), DAY)
    assert found.reason == (
        "slower than the allowed +5.0 %; more than the +10.0 % that are accepted until 2030-01-31 "
        "(new checks)"
    )


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.REGRESSED])
def test_other_verdicts_stay_as_they_are(outcome: Outcome):
    other = Verdict(outcome, "a reason")
    assert accepted_verdict(other, ENTRY, DAY) is other


def test_without_an_entry_a_regression_stays_one():
    assert accepted_verdict(SLOWER_VERDICT, None, DAY) is SLOWER_VERDICT


def test_an_accepted_regression_was_compared_and_is_sure():
    assert Outcome.ACCEPTED in COMPARED - UNSURE


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        (PARAMETRIZED, True),
        ("tests/test_a.py::test_a*", True),
        ("tests/*::test_a[x[0]-*]", True),
        ("*", True),
        ("tests/test_a.py", False),
        ("tests/test_a.py::test_a[x0-big]", False),
        ("tests/test_?.py::*", False),  # only * is special
    ],
)
def test_a_pattern_takes_brackets_as_they_are(pattern: str, matches: bool):
    assert Exemption(pattern, DAY, "reason").matches(PARAMETRIZED) is matches


def test_the_entry_of_the_test_itself_comes_before_patterns():
    wide, other = Exemption("tests/*", DAY, "wide"), Exemption("*", DAY, "wider")
    assert entry_for(PARAMETRIZED, [wide, other, ENTRY]) is ENTRY
    assert entry_for("tests/b.py::test_b", [wide, other, ENTRY]) is wide
    assert entry_for("b.py::test_b", [wide, ENTRY]) is None


def test_only_the_named_tests_of_a_run_are_accepted():
    found = with_accepted(
        [a_test(PARAMETRIZED, verdict=SLOWER_VERDICT), a_test(verdict=SLOWER_VERDICT)], [ENTRY], DAY
    )
    assert [test.headline.outcome for test in found] == [Outcome.ACCEPTED, Outcome.REGRESSED]


def test_an_entry_without_a_test_or_time_is_reported():
    gone, late = Exemption("gone.py::*", DAY, "r"), DAY + datetime.timedelta(days=1)
    no_test = "[tool.rlperf.accepted], 'gone.py::*': no collected test matches it; "
    assert stale_entries([ENTRY, gone], [PARAMETRIZED], DAY) == [no_test + "correct or remove it."]
    ended = f"[tool.rlperf.accepted], {PARAMETRIZED!r}: it ended on 2030-01-31; remove it."
    assert stale_entries([ENTRY], [PARAMETRIZED], late) == [ended]


# -- KPIs: where the values come from, and when they are an alert -------------------------------


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
    assert KPIS[name] == Kpi(name, KpiMetric(metric), target, alert, unit)
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
    kpis = {"episode": Kpi("episode", KpiMetric.TIME, 0.1, 0.3, "s")}
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
    st.sampled_from([KpiMetric.TIME, KpiMetric.THROUGHPUT]),
)
def test_slower_is_never_judged_better(call_ms: list[float], times: float, metric: KpiMetric):
    lower = metric is KpiMetric.TIME
    unit = "ms" if lower else "steps/s"
    kpi = Kpi("k", metric, 1 if lower else 1000, 5 if lower else 200, unit)
    severity = [Status.MET, Status.MISSED, Status.ALERT]
    statuses = [
        judged(measured("k", [ms * factor for ms in call_ms], steps=1), kpis={"k": kpi}).status
        for factor in (1, times)
    ]
    assert severity.index(statuses[0]) <= severity.index(statuses[1])
