"""Rounds of processes for memory, made up, until every metric is decided or time is up."""

from collections.abc import Mapping
from typing import cast

import pytest

from pytest_rlperf.baselines.levels import MemoryLevel
from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.memory import campaign
from pytest_rlperf.memory.campaign import MemoryCampaign, repeats_for
from pytest_rlperf.memory.runs import MemoryPlayed, MemoryRuns
from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.memory import MIB, Limits, Pass, Probe
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.wire import MemoryReport, Order
from pytest_rlperf.workers.side import SideRun, State
from tests.factories import a_test

NODE = "test_a.py::test_a"
NAMES = {Pass.RESIDENT: "peak_rss", Pass.TRACED: "traced_peak", Pass.EXACT: "memray_peak"}


class FakeRuns:
    """Every process takes a second, and says what its side always says."""

    def __init__(self, *sizes: float, base: State = State.RAN) -> None:
        self.now = 0.0
        self.orders: list[Order] = []
        self.paired = len(sizes) > 1
        self.same_code = None
        self.closed = False
        self._sizes = sizes
        self._base = base

    @property
    def probes(self) -> list[Probe]:
        return [order.probe for order in self.orders if order.probe is not None]

    def run(self, number: int, order: Order, startup_s: float, scout: bool = False) -> MemoryPlayed:
        self.now += 1
        self.orders.append(order)
        probe = self.probes[-1]
        states = (State.RAN, self._base)
        runs = tuple(
            SideRun(state, "why", _report(probe, size))
            for size, state in zip(self._sizes, states, strict=False)
        )
        return MemoryPlayed(runs, 1.0)

    def close(self) -> None:
        self.closed = True


def _report(probe: Probe, size: float) -> MemoryReport:
    return MemoryReport(probe.look, probe.repeats, {NAMES[probe.look]: size}, call_s=0.1)


def prepared(
    runs: FakeRuns, *nodeids: str, levels: Mapping[str, MemoryLevel] | None = None
) -> MemoryCampaign:
    return MemoryCampaign(
        [Benchmark(n, Spec(), "abc", "pytest", timed=False, memory=True) for n in nodeids],
        cast(MemoryRuns, runs),
        levels=levels or {},
        limits=Limits(),
        gates=5,
        show=lambda progress: None,
    )


def play(
    runs: FakeRuns,
    budget_s: float = 1000.0,
    levels: Mapping[str, MemoryLevel] | None = None,
    timed: TestResult | None = None,
) -> TestResult:
    campaign = prepared(runs, NODE, levels=levels)
    campaign.run(Budget(budget_s, 0.0, lambda: runs.now))
    assert runs.closed
    campaign.close(budget_s, 20.0, interrupted=False)
    return campaign.attached(NODE, timed)


@pytest.fixture(autouse=True)
def no_memray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "is_installed", lambda: False)


@pytest.mark.parametrize(
    ("head", "outcome", "processes"),
    [(5 * MIB, Outcome.UNCHANGED, 3), (9 * MIB, Outcome.REGRESSED, 6)],
)
def test_three_processes_of_each_pass_settle_what_did_not_change_and_three_more_confirm_growth(
    head: int, outcome: Outcome, processes: int
):
    runs = FakeRuns(head, 5 * MIB)
    assert play(runs).outcome is outcome
    assert len(runs.orders) == 1 + 2 * processes  # and the first look


def test_of_a_test_that_has_grown_memray_names_the_lines(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(campaign, "is_installed", lambda: True)
    grown, same = FakeRuns(9 * MIB, 5 * MIB), FakeRuns(5 * MIB, 5 * MIB)
    play(grown)
    play(same)
    assert [probe.look for probe in grown.probes].count(Pass.EXACT) == 1
    assert [probe.look for probe in same.probes].count(Pass.EXACT) == 0


def test_all_processes_make_as_many_calls_as_the_first_look_allows():
    runs = FakeRuns(MIB, MIB)
    play(runs)
    assert {probe.repeats for probe in runs.probes[1:]} == {20}


def test_a_stored_baseline_says_how_many_calls_and_holds_the_sizes():
    runs = FakeRuns(9 * MIB)
    level = MemoryLevel({"peak_rss": (5e6,) * 3, "traced_peak": (5e6,) * 3}, repeats=7)
    assert play(runs, levels={NODE: level}).outcome is Outcome.REGRESSED
    assert {probe.repeats for probe in runs.probes[1:]} == {7}


def test_without_a_baseline_sizes_are_shown():
    test = play(FakeRuns(5 * MIB))
    assert test.outcome is Outcome.NO_BASELINE
    assert test.memory_bytes == (5 * MIB,) * 3


def test_what_the_budget_cannot_bring_to_a_look_has_one_process():
    test = play(FakeRuns(9 * MIB, 5 * MIB), budget_s=0.5)
    assert test.outcome is Outcome.NOT_MEASURED
    assert test.headline.reason == (
        "the budget of 0.5 s did not reach its memory; all tests need about 20 s here: "
        "--rlperf-budget=20"
    )


def test_a_budget_too_small_for_all_decides_some():
    runs, nodeids = FakeRuns(5 * MIB, 5 * MIB), [f"t{k}" for k in range(10)]
    campaign = prepared(runs, *nodeids)
    campaign.run(Budget(30.0, 0.0, lambda: runs.now))
    assert 60 <= campaign.needed_s() <= 80  # a scout and three rounds of two passes each
    campaign.close(30.0, 80.0, interrupted=False)
    outcomes = [campaign.attached(nodeid, None).outcome for nodeid in nodeids]
    assert outcomes.count(Outcome.UNCHANGED) == 4
    assert outcomes.count(Outcome.NOT_MEASURED) == 6


def test_a_second_run_goes_on_where_the_first_one_ended():
    runs, nodeids = FakeRuns(5 * MIB, 5 * MIB), [f"t{k}" for k in range(10)]
    campaign = prepared(runs, *nodeids)
    campaign.run(Budget(30.0, 0.0, lambda: runs.now))
    campaign.run(Budget(100.0, 0.0, lambda: runs.now))
    campaign.close(100.0, None, interrupted=False)
    assert {campaign.attached(n, None).outcome for n in nodeids} == {Outcome.UNCHANGED}
    assert runs.now == 70


def test_what_was_never_looked_at_says_that_the_run_was_interrupted():
    campaign = prepared(FakeRuns(5 * MIB, 5 * MIB), NODE)
    campaign.close(30.0, None, interrupted=True)
    verdict = campaign.attached(NODE, None).headline
    assert verdict.outcome is Outcome.INCONCLUSIVE
    reason = "the run was interrupted before its memory was measured; run it again"
    assert verdict.reason == reason


def test_what_it_took_stands_beside_what_timing_took():
    runs = FakeRuns(5 * MIB, 5 * MIB)
    test = play(runs, timed=a_test(NODE, cost=Spending(slices=2.0)))
    assert test.cost == Spending(slices=2.0, memory=len(runs.orders))


def test_trouble_on_the_base_is_told():
    test = play(FakeRuns(5 * MIB, 5 * MIB, base=State.FAILED))
    assert test.outcome is Outcome.NO_BASELINE
    assert test.headline.reason == "it fails on the base: why"


def test_time_keeps_its_verdict_beside_that_on_memory():
    test = play(FakeRuns(9 * MIB, 5 * MIB), timed=a_test(NODE))
    assert test.headline.outcome is Outcome.UNCHANGED
    assert test.outcome is Outcome.REGRESSED


@pytest.mark.parametrize(("call_s", "repeats"), [(0.0, 30), (0.1, 20), (10.0, 2)])
def test_calls_are_as_many_as_fit(call_s: float, repeats: int):
    assert repeats_for(call_s) == repeats
