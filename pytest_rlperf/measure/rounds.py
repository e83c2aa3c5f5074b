"""Calls that a test counts: `benchmark.pedantic` makes as many as it says, and no other."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.measure.clock import Clock, Elapsed, summed
from pytest_rlperf.measure.devices import Settling
from pytest_rlperf.measure.loop import make_loop

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these

Arguments = tuple[Sequence[Any], Mapping[str, Any]]


class WallClock:
    """For rounds that nobody judges."""

    def start(self) -> None:
        self._begun = time.perf_counter_ns()

    def stop(self) -> Elapsed:
        return Elapsed(time.perf_counter_ns() - self._begun, 0, 0)


class Rounds:
    """A number of rounds, each of them `setup`, then `iterations` timed calls, then `teardown`.

    Scouting or measuring, with a partner or without: the function is called as often as
    pytest-benchmark calls it, which is `warmup` rounds untimed, `rounds` timed, and once more for
    the result where a round is of several calls.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        setup: Callable[[], Arguments] | None = None,
        teardown: Callable[..., Any] | None = None,
        rounds: int = 1,
        iterations: int = 1,
        warmup: int = 0,
    ) -> None:
        self.rounds, self.iterations, self.warmup = rounds, iterations, warmup
        self.setup_ns = 0.0  # wall time of setup and teardown a call, as seen in the last slice
        self.times_ns: list[float] = []  # of a call, one a round after the warm-up
        self.settle = Settling()
        self._func = func
        self._fixed: Arguments = (args, kwargs or {})
        self._setup = setup
        self._teardown = teardown
        self._loop = make_loop(func, *self._fixed)
        self._made = 0
        self._result: Any = None

    @property
    def has_setup(self) -> bool:
        return self._setup is not None or self._teardown is not None

    @property
    def loop_counts(self) -> bool:
        return not self.has_setup

    def facts(self) -> Mapping[str, Any]:
        return self.settle.facts()

    def once(self) -> Any:
        """One round that is not judged."""
        elapsed = self._round(WallClock())
        if self._made > self.warmup:
            self.times_ns.append(elapsed.own_ns / self.iterations)
        return self._result

    def warm(self, calls: int) -> None:
        """No untimed slice: the test would count its calls."""

    def timed(self, calls: int, clock: Clock) -> tuple[Elapsed, Any]:
        """One slice, of whole rounds."""
        rounds = calls // self.iterations
        elapsed = self._one_by_one(rounds, clock) if self.has_setup else self._at_once(calls, clock)
        self.times_ns += [elapsed.own_ns / calls] * rounds
        return elapsed, self._result

    def finish(self) -> Any:
        """Make the rounds that are left where the partner could not play; return the result."""
        while self._made < self.warmup + self.rounds:
            self.once()
        if self.iterations > 1:
            args, kwargs = self._arguments()
            self._result = self._func(*args, **kwargs)
            self._tear_down(args, kwargs)
        return self._result

    def _at_once(self, calls: int, clock: Clock) -> Elapsed:
        self._count(calls // self.iterations)
        clock.start()
        self._result = self._loop(calls)
        self.settle(self._result)
        return clock.stop()

    def _one_by_one(self, rounds: int, clock: Clock) -> Elapsed:
        """Nothing may come between a setup and its call: it may prepare more than it returns."""
        begun = time.perf_counter_ns()
        elapsed = summed([self._round(clock) for _ in range(rounds)])
        around_ns = time.perf_counter_ns() - begun - elapsed.wall_ns
        self.setup_ns = max(0.0, around_ns / (rounds * self.iterations))
        return elapsed

    def _round(self, clock: Clock) -> Elapsed:
        self._count(1)
        args, kwargs = self._arguments()
        if self._setup is None:
            clock.start()
            self._result = self._loop(self.iterations)
        else:
            func = self._func
            clock.start()
            self._result = func(*args, **kwargs)
        self.settle(self._result)
        elapsed = clock.stop()
        self._tear_down(args, kwargs)
        return elapsed

    def _count(self, rounds: int) -> None:
        self._made += rounds
        if self._made > self.warmup + self.rounds:
            raise FixtureError(
                f"benchmark.pedantic has {self.rounds} rounds of {self.iterations} calls here and "
                "more on the other side or in an earlier block; make them the same everywhere."
            )

    def _arguments(self) -> Arguments:
        return self._fixed if self._setup is None else self._setup()

    def _tear_down(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        if self._teardown is not None:
            self._teardown(*args, **kwargs)
