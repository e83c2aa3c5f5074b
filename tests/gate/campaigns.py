"""Campaigns whose blocks are made up, and in which time passes only in them."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import cast

from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.campaign import Campaign
from pytest_rlperf.gate.partners import BaseRevision, Kernels, Partner
from pytest_rlperf.gate.track import Benchmark, ScoutRecord
from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.result import Progress, TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.wire import KernelSpeeds, Measurement, Order, ScoutReport, WorkerKind
from pytest_rlperf.workers.blocks import Blocks, Played
from pytest_rlperf.workers.planning import ROOMY_SLICE_NS
from pytest_rlperf.workers.side import SideRun, State
from tests.factories import side

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
    crowded: float = 1.0  # how much longer a call takes in short turns, on both sides
    work: Mapping[str, float] = field(default_factory=dict)
    scout: State = State.RAN
    spec: Spec = field(default_factory=Spec)
    size: float | None = None
    family: str = ""


class FakeBlocks:
    """Plays blocks without a process; Ctrl+C comes before block `stop_at`."""

    def __init__(
        self,
        tests: Mapping[str, Fake],
        startup_s: float,
        stop_at: int | None,
        kernels: bool,
        lanes: int = 1,
    ) -> None:
        self.now = 100.0
        self.startup_s = startup_s
        self.lanes = lanes
        self.ran: list[list[Order]] = []  # by block; the scouts first
        self.startups: list[float] = []
        self.closed = False
        self._tests = tests
        self._stop_at = stop_at
        self._kernels = kernels
        self._rng = random.Random(1)

    def run(
        self,
        index: int,
        shares: Sequence[Sequence[Order]],
        candidates: Sequence[Order],
        startup_s: float,
    ) -> Iterator[Played]:
        if index == self._stop_at:
            raise KeyboardInterrupt
        self.startups.append(startup_s)
        # Workers of scouts are waited for; those of a block come up while the one before is played.
        up_at = self.now + self.startup_s
        self.now = self.now if index else up_at
        at_once = sum(bool(orders) for orders in shares)
        for number, orders in enumerate(shares, index):
            assert {order.nodeid for order in orders} <= {order.nodeid for order in candidates}
            self.ran.append([])
            for order in orders:
                self.ran[-1].append(order)
                test = self._tests[order.nodeid]
                self.now += test.seconds / at_once
                runs = self._scout(test) if order.plan is None else self._block(test, order.plan)
                cost = Spending(fixtures=0.125, slices=0.25 if order.plan else 0.0)
                runs[0] = replace(runs[0], cost=cost)
                yield Played(order.nodeid, tuple(runs), 1, 0.25, test.seconds, number, at_once)
        self.now = max(self.now, up_at)

    def block_s(self, kind: WorkerKind, tests_s: float) -> float:
        return max(self.startup_s, tests_s / self.lanes)

    def close(self) -> None:
        self.closed = True

    def _scout(self, test: Fake) -> list[SideRun]:
        seen = replace(SEEN, call_ns=test.call_ns, first_ns=test.call_ns)
        report = ScoutReport(seen, test.work, steps=7)
        head = SideRun(test.scout, "why", report if test.scout is State.RAN else None)
        speeds = KernelSpeeds({"interpreter": 50_000.0})
        return [head, SideRun(State.RAN, report=speeds if self._kernels else report)]

    def _block(self, test: Fake, plan: Plan) -> list[SideRun]:
        slice_ns = plan.calls * test.call_ns
        slice_ns *= test.crowded if slice_ns < ROOMY_SLICE_NS else 1.0
        base_ns, head_ns = round(slice_ns), round(slice_ns * test.ratio(self._rng))
        kernel_ns = {}
        if self._kernels:
            calls = dict(plan.kernels)["interpreter"] * plan.kernel_rounds
            kernel_ns = {"interpreter": (base_ns / calls,)}
        played = {"calls": plan.calls, "alone_ns": test.call_ns if plan.alone else None}
        head = Measurement(side([head_ns], work=test.work, **played), steps=7)
        partner = Measurement(side([base_ns], **played), kernel_ns=kernel_ns)
        return [SideRun(State.RAN, report=head), SideRun(State.RAN, report=partner)]

    def blocks_of(self, nodeid: str) -> int:
        orders = [order for block in self.ran for order in block if order.nodeid == nodeid]
        return sum(order.plan is not None for order in orders)

    @property
    def scouted(self) -> list[str]:
        return [order.nodeid for block in self.ran for order in block if order.plan is None]


@dataclass(frozen=True)
class Over:
    """A campaign that has ended."""

    blocks: FakeBlocks
    results: dict[str, TestResult]
    shown: list[Progress]
    interrupted: bool
    needed_s: float | None
    scouts: dict[str, ScoutRecord]

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
    scouts: Mapping[str, ScoutRecord] | None = None,
    first: Callable[[], Set[str]] = frozenset,
    lanes: int = 1,
) -> Over:
    blocks = FakeBlocks(tests, startup_s, stop_at, isinstance(partner, Kernels), lanes)
    shown: list[Progress] = []
    campaign = Campaign(
        [_benchmark(nodeid, test) for nodeid, test in tests.items()],
        cast(Blocks, blocks),
        partner=partner or BaseRevision(),
        budget=Budget(budget_s, blocks.now, lambda: blocks.now),
        cores=2,
        show=shown.append,
        scouts=scouts or {},
        first=first,
    )
    interrupted = False
    try:
        campaign.run()
    except KeyboardInterrupt:
        interrupted = True
    results = {result.nodeid: result for result in campaign.results()}
    assert blocks.closed
    return Over(blocks, results, shown, interrupted, campaign.needed_s, campaign.scouts)
