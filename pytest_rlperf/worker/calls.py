"""The calls of a measured function: in a loop, each with fresh state, or as many as a test counts.

The work that a test declares is here too, as counts on which both sides must agree.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from keyword import iskeyword
from numbers import Real
from typing import Any, Protocol, cast

from pytest_rlperf.awaiting import blocking, is_async
from pytest_rlperf.errors import FixtureError
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.wire import Measurement
from pytest_rlperf.worker.clock import Clock, Elapsed, summed
from pytest_rlperf.worker.devices import Settling

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these

Work = Callable[[Any], Mapping[str, float]] | Mapping[str, float] | None
"""Counts, or what takes them from the result of the measured call."""


def _is_count(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def counts(work: Work, result: Any) -> dict[str, float]:
    """Return the declared work as plain numbers."""
    declared = work(result) if callable(work) else (work or {})
    if not isinstance(declared, Mapping):
        raise FixtureError(
            f"work must give a mapping of counts, not {type(declared).__name__}; "
            'return something like {"updates": 1000}.'
        )
    bad = [name for name, count in declared.items() if not _is_count(count)]
    if bad:
        raise FixtureError(
            f"work[{bad[0]!r}] is {declared[bad[0]]!r}, not a finite number; "
            "count things the two sides must agree on."
        )
    return {str(name): float(count) for name, count in declared.items()}


# -- calls in a loop whose own cost is small, known, and subtracted -----------------------------

OVERHEAD_CALLS = 100_000
OVERHEAD_ROUNDS = 5


def make_loop(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, object]
) -> Callable[[int], Any]:
    """Return a function of n that calls `func` n times and returns the last result.

    The call is written out with its arguments as locals: unpacking `*args` and `**kwargs`
    costs as much as a 50 ns function and would dilute a change in one. Coroutines are awaited, all
    of them in one that the event loop runs.
    """
    if not all(name.isidentifier() and not iskeyword(name) for name in kwargs):
        return make_loop(partial(func, *args, **kwargs), (), {})  # such as **{"lambda": 0.9}
    scope: dict[str, object] = {"func": func, "repeat": repeat}
    scope.update({f"a{i}": value for i, value in enumerate(args)})
    scope.update({f"k{i}": value for i, value in enumerate(kwargs.values())})
    call = [f"a{i}" for i in range(len(args))]
    call += [f"{name}=k{i}" for i, name in enumerate(kwargs)]
    defaults = ", ".join(f"{name}={name}" for name in scope)
    define, wait = ("async def", "await ") if is_async(func) else ("def", "")
    source = (
        f"{define} loop(n, {defaults}):\n"
        "    result = None\n"
        "    for _ in repeat(None, n):\n"
        f"        result = {wait}func({', '.join(call)})\n"
        "    return result\n"
    )
    exec(compile(source, "<rlperf loop>", "exec"), scope)
    return blocking(cast(Callable[[int], Any], scope["loop"]))


def over_states(func: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """Return a function that calls `func` with each of some states, and returns the last result."""

    def loop(states: Sequence[Any]) -> Any:
        result = None
        for state in states:
            result = func() if state is None else func(state)
        return result

    async def awaiting_loop(states: Sequence[Any]) -> Any:
        result = None
        for state in states:
            result = await (func() if state is None else func(state))
        return result

    return blocking(awaiting_loop) if is_async(func) else loop


def _bare_loop(n: int) -> None:
    result = None
    for _ in repeat(None, n):
        result = None
    return result


def loop_overhead_ns(clock: Clock) -> float:
    """Return what the loop itself costs a call: the least of a few tries, since noise only adds."""
    return min(_bare_loop_ns(clock) for _ in range(OVERHEAD_ROUNDS))


def _bare_loop_ns(clock: Clock) -> float:
    clock.start()
    _bare_loop(OVERHEAD_CALLS)
    return clock.stop().own_ns / OVERHEAD_CALLS


class Measured(Protocol):
    """What the player plays: a function of a test, or the reference kernels."""

    @property
    def has_setup(self) -> bool: ...

    @property
    def loop_counts(self) -> bool:
        """Return whether what the loop itself cost is to be subtracted."""
        ...

    @property
    def result(self) -> Any:
        """Return what the last call returned, whoever made it and for whatever purpose: a test may
        hold it against what its objects are by then.
        """
        ...

    def add_facts(self, measurement: Measurement, plan: Plan) -> Measurement:
        """Return the measurement with what else there is to know about its slices."""
        ...

    def once(self) -> Any: ...

    def warm(self, calls: int) -> None: ...

    def timed(self, calls: int, clock: Clock) -> Elapsed: ...


def _with_device(measurement: Measurement, settle: Settling, plan: Plan) -> Measurement:
    block = measurement.block
    device = settle.used(block.cpu_ns, block.wall_ns, plan.cores)
    return replace(measurement, block=replace(block, device=device))


class Calls:
    """The measured function, bound to its arguments or to fresh state a call."""

    def __init__(
        self,
        func: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, object] | None = None,
        setup: Callable[[], Any] | None = None,
    ) -> None:
        self._over_states = over_states(func)
        self._setup = setup
        self._loop = make_loop(func, args, kwargs or {})
        self.result: Any = None  # of the last call
        self.setup_ns = 0.0  # wall time of one `setup`, as seen in the last slice
        self.settle = Settling()

    @property
    def has_setup(self) -> bool:
        return self._setup is not None

    @property
    def loop_counts(self) -> bool:
        return not self.has_setup

    def add_facts(self, measurement: Measurement, plan: Plan) -> Measurement:
        return _with_device(measurement, self.settle, plan)

    def warm(self, calls: int) -> None:
        """Run an untimed slice."""
        if self._setup is None:
            result = self._loop(calls)
        else:
            result = self._over_states([self._setup() for _ in repeat(None, calls)])
        self.settle(result)
        self.result = result

    def once(self) -> Any:
        """Make one untimed call; return its result."""
        self.warm(1)
        return self.result

    def timed(self, calls: int, clock: Clock) -> Elapsed:
        """Time one slice of `calls` calls. Their state is prepared, and what the slice before it
        returned is dropped, outside of the timed part.
        """
        if self._setup is None:
            clock.start()
            result = self._loop(calls)
        else:
            begun = time.perf_counter_ns()
            states = [self._setup() for _ in repeat(None, calls)]
            self.setup_ns = (time.perf_counter_ns() - begun) / calls
            clock.start()
            result = self._over_states(states)
        self.settle(result)
        elapsed = clock.stop()
        self.result = result
        return elapsed


# -- calls that a test counts: `benchmark.pedantic` makes as many as it says --------------------

Arguments = tuple[Sequence[Any], Mapping[str, object]]


class WallClock:
    """A clock for rounds that nobody judges."""

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
        kwargs: Mapping[str, object] | None = None,
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
        self._func = blocking(func)
        self._fixed: Arguments = (args, kwargs or {})
        self._setup = setup
        self._teardown = teardown
        self._loop = make_loop(func, *self._fixed)
        self._made = 0
        self.result: Any = None  # of the last call

    @property
    def has_setup(self) -> bool:
        return self._setup is not None or self._teardown is not None

    @property
    def loop_counts(self) -> bool:
        return not self.has_setup

    def add_facts(self, measurement: Measurement, plan: Plan) -> Measurement:
        return _with_device(measurement, self.settle, plan)

    def once(self) -> Any:
        """Run one round that is not judged; return its result."""
        elapsed = self._round(WallClock())
        if self._made > self.warmup:
            self.times_ns.append(elapsed.own_ns / self.iterations)
        return self.result

    def warm(self, calls: int) -> None:
        """Do nothing: the test would count the calls of an untimed slice."""

    def timed(self, calls: int, clock: Clock) -> Elapsed:
        """Time one slice, of whole rounds."""
        rounds = calls // self.iterations
        elapsed = self._one_by_one(rounds, clock) if self.has_setup else self._at_once(calls, clock)
        self.times_ns += [elapsed.own_ns / calls] * rounds
        return elapsed

    def finish(self) -> Any:
        """Make the rounds that are left where the partner could not play; return the result."""
        while self._made < self.warmup + self.rounds:
            self.once()
        if self.iterations > 1:
            args, kwargs = self._arguments()
            self.result = self._func(*args, **kwargs)
            self._tear_down(args, kwargs)
        return self.result

    def _at_once(self, calls: int, clock: Clock) -> Elapsed:
        self._count(calls // self.iterations)
        clock.start()
        self.result = self._loop(calls)
        self.settle(self.result)
        return clock.stop()

    def _one_by_one(self, rounds: int, clock: Clock) -> Elapsed:
        """Time rounds each on its own: nothing may come between a setup and its call, since it may
        prepare more than it returns.
        """
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
            self.result = self._loop(self.iterations)
        else:
            func = self._func
            clock.start()
            self.result = func(*args, **kwargs)
        self.settle(self.result)
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

    def _tear_down(self, args: Sequence[Any], kwargs: Mapping[str, object]) -> None:
        if self._teardown is not None:
            self._teardown(*args, **kwargs)
