"""Campaigns whose blocks are made up, and in which time passes only in them."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.campaign import Campaign
from pytest_rlperf.gate.partners import BaseRevision, Kernels, Partner
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.plan import Scouted
from pytest_rlperf.model.result import Progress, TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.workers.blocks import Blocks, Played, Task
from pytest_rlperf.workers.side import SideRun, State

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
    size: float | None = None
    family: str = ""


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
            calls = dict(task.plan.kernels)["interpreter"] * task.plan.kernel_rounds
            partner["kernel_ns"] = {"interpreter": [ns / calls for ns in partner["own_ns"]]}
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
        return self.results[nodeid].headline.outcome

    def reason(self, nodeid: str) -> str:
        return self.results[nodeid].headline.reason


def _benchmark(nodeid: str, test: Fake) -> Benchmark:
    command = f"pytest {nodeid}"
    return Benchmark(nodeid, test.spec, "abc", command, input_size=test.size, family=test.family)


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
        [_benchmark(nodeid, test) for nodeid, test in tests.items()],
        cast(Blocks, blocks),
        partner=partner or BaseRevision(),
        budget=Budget(budget_s, blocks.now, lambda: blocks.now),
        cores=2,
        show=shown.append,
    )
    interrupted = False
    try:
        campaign.run()
    except KeyboardInterrupt:
        interrupted = True
    results = {result.nodeid: result for result in campaign.results()}
    assert blocks.closed
    return Over(blocks, results, shown, interrupted)
