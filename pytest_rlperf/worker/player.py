"""One side's part in a benchmark: warm up, wait for the partner, play the slices, report."""

import gc
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_rlperf.errors import FixtureError, PartnerGone, RlperfError
from pytest_rlperf.machine.host import involuntary_switches, pin_job
from pytest_rlperf.model.block import SideBlock, Spending
from pytest_rlperf.model.metric import FIRST_CALL, IMPORT_TIME
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.phases import listen
from pytest_rlperf.prove.slowed_clock import RealTime, SlowedClock, Spender
from pytest_rlperf.wire import Channel, Go, Measurement, Order, Ready, ScoutReport
from pytest_rlperf.worker import scout
from pytest_rlperf.worker.boot import BEFORE_TEST, scatter, stir
from pytest_rlperf.worker.calls import Calls, Measured, Rounds, Work, counts, loop_overhead_ns
from pytest_rlperf.worker.clock import (
    Clock,
    Elapsed,
    JobClock,
    PhaseClock,
    SystemClock,
    own_time,
    wall_time,
)
from pytest_rlperf.worker.turns import Baton, order_of_turns, run_abreast, run_together, take_turns

if TYPE_CHECKING:  # loaded where they are asked for: a worker starts for every block
    from pytest_rlperf.profile.clock import ProfilingClock
    from pytest_rlperf.worker.watch import CodeWatch

OVERHEAD_MATTERS_CALLS = 50
"""Below this many calls a slice of 2 ms, the loop's own 10 ns a call are under 0.03 %."""

BATON_SHARE = 0.8
"""A partner is given up sooner than the controller gives up: it then sees which side is stuck."""

MANY_CALLS = (
    "rlperf calls this function many times over; if it raises at a later call only, give every "
    "call fresh state: rlperf.measure(func, setup=...)."
)

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these

Importer = Callable[[Sequence[str], float], float]
"""Called with names and seconds: returns the time that importing them takes, within that limit."""


class Player:
    """Measures the calls of one test at a time, in step with the other side."""

    ends_alone = True
    """Whether it goes on without a partner that left."""

    def __init__(
        self,
        channel: Channel,
        clock: Clock,
        side: int,
        baton: Baton,
        slowdown: float = 0.0,
        importer: Importer | None = None,
        watch: "CodeWatch | None" = None,
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._side = side
        self._baton = baton
        self._slowdown = slowdown
        self._importer = importer
        self._watch = watch
        self._order: Order | None = None
        self._begun = self._since = 0.0
        self._part = "fixtures"  # of a `Spending`, that the time since then belongs to
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self.played = False
        self.abandoned = False  # by the partner, in the middle of the slices: not to blame
        self.advice: str | None = None  # what to do where the measured function raised
        self._overhead_ns: float | None = None
        self._read_ns: Callable[[], int] | None = None

    @property
    def probes(self) -> bool:
        """Return whether memory is looked at in this test, and time is not."""
        return self._order is not None and self._order.probe is not None

    @property
    def cost(self) -> Spending:
        """Return what the time since the test began went to."""
        self._turn_to(self._part)
        return Spending(**self._seconds)

    def _turn_to(self, part: str) -> None:
        """Count the time from now on as part of something else."""
        now = time.monotonic()
        self._seconds[self._part] += now - self._since
        self._part, self._since = part, now

    def begin(self, order: Order) -> None:
        """Prepare for the next test."""
        listen(None)  # a function that raised in a slice has left it on
        self._order = order
        self._begun = self._since = time.monotonic()
        self._part = "fixtures"
        self._seconds.clear()
        self.played = self.abandoned = False
        self.advice = None

    def play_kernels(self, order: Order, plan: Plan, kernels: Measured) -> None:
        """Play the reference side of a block."""
        self.begin(order)
        self._play_block(order, plan.without_starts, kernels, None, None)

    def train(self, train: Callable[[int], Any]) -> Any:
        """Train once with the seed of the order; return what `train` did. An error of the training
        is reported as what came of it, and ends the test all the same.
        """
        from pytest_rlperf.learning.training import failed, trained

        if self._order is None or self._order.training is None:
            raise FixtureError(
                "rlperf_learning was called where nothing is learned; call it in the test body, in "
                "a test that takes no other fixture that measures."
            )
        if self.played:
            raise FixtureError("rlperf_learning judges one training a test; split it in two.")
        self.played = True
        try:
            training, result = trained(train, self._order.training)
        except RlperfError:
            raise
        except Exception as error:
            self._channel.send(failed(self._order.training, error))
            raise
        self._channel.send(training)
        return result

    def play(
        self, calls: Calls | Rounds, work: Work, steps: int | None, advice: str | None = MANY_CALLS
    ) -> Any:
        """Measure the calls of a test as ordered; return what the last of them returned."""
        if self._order is None:
            raise FixtureError(
                "rlperf was called outside of a test; call it in the test body, not in a fixture "
                "of a wider scope."
            )
        if self.played:
            raise FixtureError(
                "this test has measured a call already, with rlperf or benchmark; split it in two."
            )
        self.played = True
        try:
            if self._order.probe is not None:
                from pytest_rlperf.memory.probe import probe

                self._turn_to("memory")
                report = probe(self._order.probe, calls)
                if self._watch is not None:
                    self._watch.follow(calls, 1e9 * report.call_s)
                self._channel.send(report)
            else:
                self._turn_to("scouting" if self._order.plan is None else "warmup")
                self._play(self._order, calls, work, steps)
            return calls.result
        except RlperfError:
            raise
        except Exception:
            self.advice = advice
            raise
        finally:
            self._turn_to("fixtures")

    def _play(self, order: Order, calls: Calls | Rounds, work: Work, steps: int | None) -> None:
        if order.plan is not None:
            self._play_block(order, order.plan, calls, work, steps)
            return
        clock = self._with_phases(self._clock)
        seen = self._watched(calls, lambda now_quiet: scout.scout(calls, clock, now_quiet))
        self._channel.send(ScoutReport(seen, counts(work, calls.result), steps))

    def _watched(
        self, calls: Calls | Rounds, look: Callable[[Callable[[], None]], Scouted]
    ) -> Scouted:
        """Return what a scout sees. Where it is watched, the watch pauses for the calls whose time
        counts, and then follows as many as a block makes.
        """
        if self._watch is None:
            return look(lambda: None)
        seen = look(self._watch.pause)
        self._watch.follow(calls, seen.call_ns)
        return seen

    def _play_block(
        self, order: Order, plan: Plan, calls: Measured, work: Work, steps: int | None
    ) -> None:
        rng = random.Random(f"{order.seed}/{self._side}/{order.nodeid}")
        alive = scatter(rng, BEFORE_TEST)
        starts_ns = self._starts(order, plan, calls)
        for _ in range(plan.warmup - plan.first_call):
            calls.once()
        phases = self._with_phases(self._clock_of(order, plan, calls))
        clock: Clock = phases
        overhead_ns = self._loop_overhead(plan) if calls.loop_counts else 0.0
        if self._slowdown:
            spender = self._clock if isinstance(self._clock, Spender) else RealTime()
            clock = SlowedClock(
                clock,
                self._slowdown,
                spender,
                judged=wall_time if plan.wall else own_time,
                apart_ns=plan.calls * overhead_ns,
            )
        profiling = self._profiling(clock, plan) if plan.profile else None
        if plan.calls > 1:  # an untimed slice, so that the first timed one is like the others
            calls.warm(plan.calls)
        self._baton.reset(BATON_SHARE * order.deadline_s - (time.monotonic() - self._begun))
        self._turn_to("waiting")
        self._channel.send(Ready())
        answer = self._channel.receive()
        self._turn_to("slices")
        if not isinstance(answer, Go):
            calls.once()  # the partner cannot run this test, but its body goes on
            return
        watched = profiling or clock
        slices, switches, alone_ns = self._slices(order, plan, calls, watched, rng)
        del alive
        block = SideBlock(
            own_ns=tuple(own_ns(s, plan, overhead_ns) for s in slices),
            wall_ns=tuple(s.wall_ns for s in slices),
            cpu_ns=tuple(s.cpu_ns for s in slices),
            calls=plan.calls,
            work=counts(work, calls.result),
            preempted=switches,
            starts_ns=starts_ns,
            phases=phases.shares,
            alone_ns=alone_ns,
        )
        profile = None if profiling is None else profiling.profile()
        self._channel.send(calls.add_facts(Measurement(block, steps, profile=profile), plan))

    def _starts(self, order: Order, plan: Plan, calls: Measured) -> dict[str, float]:
        """Return the time of what a fresh process does once, by metric."""
        starts_ns: dict[str, float] = {}
        if plan.imports and self._importer is not None:
            starts_ns[IMPORT_TIME] = self._importer(plan.imports, BATON_SHARE * order.deadline_s)
        if plan.first_call and plan.exact:
            raise FixtureError(
                "first_call times a call of its own, and benchmark.pedantic allows no other than "
                "those it counts; use rlperf or benchmark(func)."
            )
        if plan.first_call:
            elapsed = calls.timed(1, self._clock)
            starts_ns[FIRST_CALL] = float(own_ns(elapsed, plan, 0.0))
        return starts_ns

    def _alone(self, plan: Plan, calls: Measured) -> float | None:
        """Return the time of a call while the partner waits, when its own data fill the caches."""
        if not plan.alone or self._baton.alone:
            return None
        taken: list[int] = []

        def fill_and_run() -> None:
            calls.warm(plan.alone)
            taken.append(own_ns(calls.timed(plan.alone, self._clock), plan, 0.0))

        take_turns(self._side, (0, 1), self._baton, fill_and_run)
        return taken[0] / plan.alone

    def _with_phases(self, clock: Clock) -> PhaseClock:
        return PhaseClock(clock, self._reader())

    def _reader(self) -> Callable[[], int]:
        if self._read_ns is None:
            from pytest_rlperf.profile.clock import reader_of

            self._read_ns = reader_of(self._clock)
        return self._read_ns

    def _profiling(self, clock: Clock, plan: Plan) -> "ProfilingClock":
        from pytest_rlperf.profile.clock import ProfilingClock

        return ProfilingClock(clock, plan, self._reader())

    def _clock_of(self, order: Order, plan: Plan, calls: Measured) -> Clock:
        """Return the clock that suits the plan."""
        if not isinstance(self._clock, SystemClock):
            return self._clock
        if plan.mode is Mode.LIVE:
            return JobClock(pin_job(order.cores, calls.once))
        # Chosen for calls that compute; others have the rest of the wall time.
        self._clock.cpu_bound = plan.mode is Mode.CONCURRENT or plan.hosted
        self._clock.hosted = plan.hosted
        return self._clock

    def _slices(
        self, order: Order, plan: Plan, calls: Measured, clock: Clock, rng: random.Random
    ) -> tuple[list[Elapsed], int, float | None]:
        """Play the slices in step with the partner; return their times, how often this process lost
        the core meanwhile, and what a call takes alone if that is asked.
        """
        slices: list[Elapsed] = []
        alive = None

        def run_slice() -> None:
            nonlocal alive
            alive = stir(rng)
            slices.append(calls.timed(plan.calls, clock))

        def go_on() -> None:
            """Make a call beyond the plan; a test that has no more to give has not failed."""
            with suppress(Exception):
                calls.once()

        gc.collect()
        before = involuntary_switches()
        gone: PartnerGone | None = None
        alone_ns: float | None = None
        try:
            alone_ns = self._alone(plan, calls)
            if self._baton.alone:
                for _ in range(plan.pairs):
                    run_slice()
            elif plan.abreast:
                run_abreast(self._side, plan.pairs, order.seed, self._baton, run_slice, go_on)
            elif plan.mode is Mode.CONCURRENT:
                run_together(self._side, plan.pairs, order.seed, self._baton, run_slice)
            else:
                turns = order_of_turns(plan.pairs, order.seed)
                take_turns(self._side, turns, self._baton, run_slice)
        except PartnerGone as error:
            gone = error
        except BaseException:
            self._baton.leave()
            raise
        if gone is not None:
            # Where both sides would raise, each says so, whichever of them had the first turn.
            while self.ends_alone and len(slices) < plan.pairs and not self._baton.overdue:
                run_slice()
            self.abandoned = True
            raise gone
        return slices, involuntary_switches() - before, alone_ns

    def _loop_overhead(self, plan: Plan) -> float:
        if plan.calls < OVERHEAD_MATTERS_CALLS:
            return 0.0
        if self._overhead_ns is None:
            self._overhead_ns = loop_overhead_ns(self._clock)
        return self._overhead_ns


def own_ns(elapsed: Elapsed, plan: Plan, overhead_ns: float) -> int:
    """Return the judged time of a slice, without what the loop itself cost."""
    judged_ns = wall_time(elapsed) if plan.wall else own_time(elapsed)
    return max(1, round(judged_ns - plan.calls * overhead_ns))
