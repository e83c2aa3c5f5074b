"""The loop of a run: who gets a block, for how long, and what becomes of what is left open.

Blocks are made up, and time passes only in them.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from pytest_rlperf.judge.decide import LOOKS
from pytest_rlperf.judge.reference import kernel_ratios
from pytest_rlperf.judge.stored import Level
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.measure.blocks import Blocks, Played, Task
from pytest_rlperf.measure.pair import SideRun, State
from pytest_rlperf.measure.planning import LONGEST, block_seconds
from pytest_rlperf.model.block import LogRatios
from pytest_rlperf.model.plan import Scouted
from pytest_rlperf.model.progress import Progress
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.run.campaign import (
    BLOCK_DEADLINE_S,
    FAIR_SHARE,
    LATE,
    SCOUT_DEADLINE_S,
    SCOUT_SHARE,
    SLOWEST,
    STARTUP_S,
    Benchmark,
    Campaign,
)
from pytest_rlperf.run.partners import (
    SAVE_BLOCKS,
    SOLO_BLOCKS,
    Alone,
    BaseRevision,
    Kernels,
    Partner,
)

MS = 10**6
SEEN = Scouted(call_ns=MS, first_ns=MS, cpu_share=1.0, processes=1)


def same(rng: random.Random) -> float:
    """How much longer than the partner a block of the test takes."""
    return 1 + rng.gauss(0, 0.001)


def slower(rng: random.Random) -> float:
    return 1.5 * same(rng)


def unsure(rng: random.Random) -> float:
    """Around the threshold, too wide to tell."""
    return 1.05 * rng.choice((1.3, 1 / 1.3))


@dataclass(frozen=True)
class Fake:
    """How a test behaves in every block."""

    ratio: Callable[[random.Random], float] = same
    seconds: float = 0.1  # that a block takes, and the scout too
    call_ns: float = MS
    work: Mapping[str, float] = field(default_factory=dict)
    scout: State = State.RAN
    spec: Spec = field(default_factory=Spec)


class FakeBlocks:
    """Plays blocks of one pair without a process; Ctrl+C comes before block `stop_at`."""

    def __init__(
        self, tests: Mapping[str, Fake], startup_s: float, stop_at: int | None, kernels: bool
    ) -> None:
        self.now = 100.0
        self.startup_s = startup_s
        self.ran: list[list[Task]] = []  # by block; the scouts first
        self.startups: list[float] = []
        self.closed = False
        self._tests = tests
        self._stop_at = stop_at
        self._kernels = kernels
        self._rng = random.Random(1)

    def run(
        self, index: int, tasks: Sequence[Task], candidates: Sequence[Task], startup_s: float
    ) -> Iterator[Played]:
        assert {task.nodeid for task in tasks} <= {task.nodeid for task in candidates}
        if index == self._stop_at:
            raise KeyboardInterrupt
        self.ran.append([])
        self.startups.append(startup_s)
        for task in tasks:
            self.ran[-1].append(task)
            test = self._tests[task.nodeid]
            self.now += test.seconds
            runs = self._scout(test) if task.plan is None else self._block(test, task)
            yield Played(task.nodeid, tuple(runs), core=1, steal=0.25, seconds=test.seconds)

    def close(self) -> None:
        self.closed = True

    def _scout(self, test: Fake) -> list[SideRun]:
        facts: dict[str, Any] = {
            "call_ns": test.call_ns, "first_ns": test.call_ns, "cpu_share": 1.0, "processes": 1,
            "has_setup": False, "setup_ns": 0.0, "rounds": 0, "iterations": 1, "warmup": 0,
            "steps": 7, "work": test.work,
        }  # fmt: skip
        head = SideRun(test.scout, "why", facts if test.scout is State.RAN else None)
        units = {"unit_ns": {"interpreter": 50_000.0}}
        return [head, SideRun(State.RAN, facts=units if self._kernels else facts)]

    def _block(self, test: Fake, task: Task) -> list[SideRun]:
        assert task.plan is not None
        head = round(task.plan.calls * test.call_ns * test.ratio(self._rng))
        base = round(task.plan.calls * test.call_ns)
        partner = _times(base)
        if self._kernels:
            partner["kernels"] = ["interpreter"]
        return [
            SideRun(State.RAN, facts={**_times(head), "work": test.work}),
            SideRun(State.RAN, facts={**partner, "work": {}}),
        ]

    def blocks_of(self, nodeid: str) -> int:
        return sum(task.nodeid == nodeid for block in self.ran[1:] for task in block)


def _times(ns: int) -> dict[str, Any]:
    return {"own_ns": [ns], "wall_ns": [ns], "cpu_ns": [ns], "preempted": 0, "work": {}}


@dataclass(frozen=True)
class Over:
    """A campaign that has ended."""

    blocks: FakeBlocks
    results: dict[str, TestResult]
    shown: list[Progress]
    interrupted: bool

    def outcome(self, nodeid: str) -> Outcome:
        return self.results[nodeid].verdict.outcome

    def reason(self, nodeid: str) -> str:
        return self.results[nodeid].verdict.reason


def run(
    tests: Mapping[str, Fake],
    *,
    partner: Partner | None = None,
    budget_s: float = 1000.0,
    startup_s: float = 0.0,
    stop_at: int | None = None,
) -> Over:
    blocks = FakeBlocks(tests, startup_s, stop_at, kernels=isinstance(partner, Kernels))
    shown: list[Progress] = []
    campaign = Campaign(
        [Benchmark(nodeid, test.spec, "abc", f"pytest {nodeid}") for nodeid, test in tests.items()],
        cast(Blocks, blocks),
        partner=partner or BaseRevision(),
        budget_s=budget_s,
        cores=2,
        begun=blocks.now,
        show=shown.append,
        clock=lambda: blocks.now,
    )
    interrupted = False
    try:
        campaign.run()
    except KeyboardInterrupt:
        interrupted = True
    results = {result.nodeid: result for result in campaign.results()}
    assert blocks.closed
    return Over(blocks, results, shown, interrupted)


# -- to a decision ------------------------------------------------------------------------------


def test_every_test_is_scouted_once_and_then_measured_until_it_is_decided():
    over = run({"same": Fake(), "slower": Fake(slower)})
    assert [task.plan for task in over.blocks.ran[0]] == [None, None]
    assert over.outcome("same") is Outcome.UNCHANGED
    assert over.outcome("slower") is Outcome.REGRESSED
    assert over.blocks.blocks_of("same") == LOOKS[0]
    assert over.blocks.blocks_of("slower") > LOOKS[0]


def test_decided_tests_drop_out_of_later_blocks():
    over = run({"same": Fake(), "slower": Fake(slower)})
    assert [task.nodeid for task in over.blocks.ran[-1]] == ["slower"]


def test_a_result_has_what_was_measured():
    result = run({"same": Fake()}).results["same"]
    assert (len(result.blocks), len(result.log_ratios), result.steps) == (5, 5, 7)
    assert (result.blocks[0].core, result.blocks[0].steal) == (1, 0.25)
    assert result.repeat_command == "pytest same"


def test_progress_counts_what_is_decided():
    shown = run({"same": Fake(), "slower": Fake(slower)}).shown
    assert [shown[0].decided, shown[-1].decided] == [0, 2]
    assert shown[-1].tests == 2
    assert shown[0].blocks == 0


def test_a_test_that_fails_in_the_scout_has_no_block():
    over = run({"broken": Fake(scout=State.FAILED), "same": Fake()})
    assert over.outcome("broken") is Outcome.FAILED
    assert over.blocks.blocks_of("broken") == 0
    assert over.outcome("same") is Outcome.UNCHANGED


def test_a_skipped_test_is_no_failure():
    result = run({"skipped": Fake(scout=State.SKIPPED)}).results["skipped"]
    assert (result.verdict.outcome, result.skipped) == (Outcome.SKIPPED, "why")


def test_alone_a_test_is_shown_after_a_few_blocks():
    over = run({"same": Fake()}, partner=Alone())
    assert over.outcome("same") is Outcome.NO_BASELINE
    assert over.blocks.blocks_of("same") == SOLO_BLOCKS


# -- sharing the budget -------------------------------------------------------------------------


def test_a_slow_test_does_not_starve_the_others():
    quick = {f"quick{k}": Fake(unsure) for k in range(4)}
    over = run({**quick, "slow": Fake(unsure, seconds=5.0)}, budget_s=40)
    slow = over.blocks.blocks_of("slow")
    assert slow >= 1
    assert all(over.blocks.blocks_of(name) >= 10 * slow for name in quick)


def test_no_test_begins_a_block_after_it_had_more_than_its_share():
    tests = {"quick": Fake(unsure), "slow": Fake(unsure, seconds=1.0)}
    over = run(tests, budget_s=30)
    spent = dict.fromkeys(tests, 0.0)
    for block in over.blocks.ran[1:]:
        if len(block) == len(tests):
            assert spent["slow"] <= FAIR_SHARE * sum(spent.values()) / len(tests)
        for task in block:
            spent[task.nodeid] += tests[task.nodeid].seconds


def test_what_does_not_fit_into_the_time_left_is_not_begun():
    over = run({"slow": Fake(unsure, seconds=7.0)}, budget_s=30)
    assert over.blocks.blocks_of("slow") == 3  # and 7 s for the scout, so that 2 s are left
    assert over.outcome("slow") is Outcome.INCONCLUSIVE


def test_a_run_ends_with_its_budget_and_gives_what_is_open_its_best_word():
    over = run({"unsure": Fake(unsure, seconds=1.0), "slower": Fake(slower)}, budget_s=8)
    assert over.blocks.now - 100 <= 8 + 1.1
    assert over.outcome("unsure") is Outcome.INCONCLUSIVE
    assert "raise --rlperf-budget" in over.reason("unsure")
    assert over.outcome("slower") is Outcome.REGRESSED


def test_scouts_of_a_suite_too_large_leave_time_to_measure():
    tests = {f"t{k:02}": Fake(seconds=1.0) for k in range(40)}
    over = run(tests, budget_s=20)
    scouted = len(over.blocks.ran[0])
    assert scouted == SCOUT_SHARE * 20
    assert over.blocks.blocks_of("t00") >= 1
    assert over.outcome("t39") is Outcome.INCONCLUSIVE
    assert "the budget ran out after 0 of at least 3 blocks" in over.reason("t39")


def test_alone_what_had_no_time_says_so():
    tests = {f"t{k:02}": Fake(seconds=1.0) for k in range(40)}
    over = run(tests, budget_s=20, partner=Alone())
    assert over.reason("t39") == "the budget ran out before it was measured"


# -- deadlines and length -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget_s", "deadline_s"), [(1, SCOUT_DEADLINE_S[0]), (60, 60), (900, SCOUT_DEADLINE_S[1])]
)
def test_a_scout_has_as_long_as_the_budget_but_neither_moments_nor_for_ever(
    budget_s: float, deadline_s: float
):
    (task, *_) = run({"same": Fake()}, budget_s=budget_s).blocks.ran[0]
    assert task.deadline_s == deadline_s


def test_a_block_has_many_times_what_it_should_take():
    over = run({"same": Fake(seconds=0.5)})
    task = over.blocks.ran[1][0]
    assert task.plan is not None
    expected_s = 0.5 + block_seconds(task.plan, SEEN)  # fixtures are made anew in every block
    assert task.deadline_s == pytest.approx(BLOCK_DEADLINE_S + SLOWEST * expected_s)


def test_near_the_end_a_block_has_a_few_times_what_it_should_take():
    over = run({"slow": Fake(unsure, seconds=5.0)}, budget_s=12)
    task = over.blocks.ran[1][0]
    assert task.plan is not None
    expected_s = 5.0 + block_seconds(task.plan, SEEN)
    assert task.deadline_s == pytest.approx(BLOCK_DEADLINE_S + LATE * expected_s)


def test_workers_have_a_while_to_come_up_but_not_longer_than_the_run():
    assert run({"same": Fake()}, budget_s=1000).blocks.startups[0] == STARTUP_S
    assert run({"same": Fake()}, budget_s=5).blocks.startups[0] == BLOCK_DEADLINE_S + 5


def pairs(over: Over) -> int:
    plan = over.blocks.ran[1][0].plan
    assert plan is not None
    return plan.pairs


def test_a_block_that_is_over_before_the_next_workers_are_up_gets_more_pairs():
    plain, waiting = run({"same": Fake()}), run({"same": Fake()}, startup_s=3600.0)
    assert pairs(waiting) == LONGEST * pairs(plain)


def test_many_tests_fill_the_time_by_themselves():
    plain = run({"same": Fake()})
    plan = plain.results["same"].plan
    assert plan is not None
    one_s = block_seconds(plan, SEEN)
    many = run({f"t{k}": Fake() for k in range(20)}, startup_s=10 * one_s)
    assert pairs(many) == pairs(plain)


def test_a_test_that_says_how_many_calls_it_wants_gets_no_more():
    fixed = Fake(spec=Spec(iterations=10))
    assert pairs(run({"fixed": fixed}, startup_s=3600.0)) == pairs(run({"fixed": fixed}))


# -- stored baselines ---------------------------------------------------------------------------


def level(**fields: Any) -> Level:
    weights, at = {"interpreter": 1.0}, LogRatios(0.0, 0.0)
    return Level(**{"weights": weights, "at": at, "blur": 0.0, "work": {}, **fields})


def test_a_save_measures_on_after_the_decision():
    over = run({"same": Fake()}, partner=Kernels({}, saving=True))
    assert over.blocks.blocks_of("same") == SAVE_BLOCKS
    assert over.outcome("same") is Outcome.NO_BASELINE


def test_a_decided_test_is_measured_as_often_as_a_save_needs():
    found = run({"same": Fake()}, partner=Kernels({}, saving=True)).results["same"]
    at = kernel_ratios(found.blocks[0])["interpreter"]
    known = Kernels({"same": level(at=at)}, saving=True)
    over = run({"same": Fake()}, partner=known)
    assert over.outcome("same") is Outcome.UNCHANGED
    assert over.blocks.blocks_of("same") == SAVE_BLOCKS > LOOKS[0]


def test_other_work_than_stored_is_incomparable_at_once():
    known = Kernels({"same": level(work={"updates": 3.0})})
    over = run({"same": Fake(work={"updates": 4.0})}, partner=known)
    assert over.outcome("same") is Outcome.INCOMPARABLE
    assert "updates is 3 on the base and 4 on head" in over.reason("same")
    assert over.blocks.blocks_of("same") == 1


def test_other_work_than_stored_can_be_saved_anew():
    known = Kernels({"same": level(work={"updates": 3.0})}, saving=True)
    over = run({"same": Fake(work={"updates": 4.0})}, partner=known)
    assert over.outcome("same") is Outcome.INCOMPARABLE
    assert len(over.results["same"].blocks) == SAVE_BLOCKS
    assert over.results["same"].log_ratios == ()


def test_what_cannot_be_compared_says_why_even_when_time_runs_out():
    changed = Ended(Outcome.INCOMPARABLE, "the benchmark itself changed")
    over = run({"same": Fake(seconds=1.0)}, partner=Kernels({"same": changed}), budget_s=4)
    assert over.blocks.blocks_of("same") < SOLO_BLOCKS
    assert over.reason("same") == "the benchmark itself changed"


def test_the_label_of_a_comparison_stands_beside_its_verdict():
    known = Kernels({"same": level(label="saved on another CPU (Some CPU)")})
    result = run({"same": Fake()}, partner=known).results["same"]
    assert result.verdict.label == "saved on another CPU (Some CPU)"


# -- interruption -------------------------------------------------------------------------------


def test_an_interrupted_campaign_keeps_what_was_measured():
    over = run({"unsure": Fake(unsure), "late": Fake(unsure)}, stop_at=4)
    assert over.interrupted
    assert len(over.results["unsure"].blocks) == 3
    assert over.outcome("unsure") is Outcome.INCONCLUSIVE
    assert over.reason("unsure").endswith("; run it again")


def test_an_interrupted_scout_leaves_every_test_open():
    over = run({"same": Fake()}, stop_at=0)
    assert over.interrupted
    assert over.results["same"].blocks == ()
    assert over.reason("same").startswith("the run was interrupted")
