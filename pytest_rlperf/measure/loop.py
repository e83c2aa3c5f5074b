"""Calls in a loop whose own cost is small, known, and subtracted."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from keyword import iskeyword
from typing import Any, Protocol

from pytest_rlperf.measure.clock import Clock, Elapsed
from pytest_rlperf.measure.devices import Settling

OVERHEAD_CALLS = 100_000
OVERHEAD_ROUNDS = 5


def make_loop(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[[int], Any]:
    """A function of n that calls `func` n times and returns the last result.

    The call is written out with its arguments as locals: unpacking `*args` and `**kwargs`
    costs as much as a 50 ns function and would dilute a change in one.
    """
    if not all(name.isidentifier() and not iskeyword(name) for name in kwargs):
        return make_loop(partial(func, *args, **kwargs), (), {})  # such as **{"lambda": 0.9}
    scope: dict[str, Any] = {"func": func, "repeat": repeat}
    scope.update({f"a{i}": value for i, value in enumerate(args)})
    scope.update({f"k{i}": value for i, value in enumerate(kwargs.values())})
    call = [f"a{i}" for i in range(len(args))]
    call += [f"{name}=k{i}" for i, name in enumerate(kwargs)]
    defaults = ", ".join(f"{name}={name}" for name in scope)
    source = (
        f"def loop(n, {defaults}):\n"
        "    result = None\n"
        "    for _ in repeat(None, n):\n"
        f"        result = func({', '.join(call)})\n"
        "    return result\n"
    )
    exec(compile(source, "<rlperf loop>", "exec"), scope)
    loop: Callable[[int], Any] = scope["loop"]
    return loop


def _bare_loop(n: int) -> None:
    result = None
    for _ in repeat(None, n):
        result = None
    return result


def loop_overhead_ns(clock: Clock) -> float:
    """What the loop itself costs a call: the least of a few tries, since noise only adds."""
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
        """Whether what the loop itself cost is to be subtracted."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What the controller must know about the slices, besides their times."""
        ...

    def once(self) -> Any: ...

    def warm(self, calls: int) -> None: ...

    def timed(self, calls: int, clock: Clock) -> tuple[Elapsed, Any]: ...


class Calls:
    """The measured function, bound to its arguments or to fresh state a call."""

    def __init__(
        self,
        func: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable[[], Any] | None = None,
    ) -> None:
        self._func = func
        self._setup = setup
        self._loop = make_loop(func, args, kwargs or {})
        self.setup_ns = 0.0  # wall time of one `setup`, as seen in the last slice
        self.settle = Settling()

    @property
    def has_setup(self) -> bool:
        return self._setup is not None

    @property
    def loop_counts(self) -> bool:
        return not self.has_setup

    def facts(self) -> Mapping[str, Any]:
        return self.settle.facts()

    def warm(self, calls: int) -> None:
        """An untimed slice."""
        self._untimed(calls)

    def once(self) -> Any:
        """One untimed call."""
        return self._untimed(1)

    def _untimed(self, calls: int) -> Any:
        if self._setup is None:
            result = self._loop(calls)
        else:
            result = self._over_states([self._setup() for _ in repeat(None, calls)])
        self.settle(result)
        return result

    def timed(self, calls: int, clock: Clock) -> tuple[Elapsed, Any]:
        """One slice: `calls` calls, preparing their state outside the timed part."""
        if self._setup is None:
            clock.start()
            result = self._loop(calls)
            self.settle(result)
            return clock.stop(), result
        begun = time.perf_counter_ns()
        states = [self._setup() for _ in repeat(None, calls)]
        self.setup_ns = (time.perf_counter_ns() - begun) / calls
        clock.start()
        result = self._over_states(states)
        self.settle(result)
        return clock.stop(), result

    def _over_states(self, states: Sequence[Any]) -> Any:
        func = self._func
        result = None
        for state in states:
            result = func() if state is None else func(state)
        return result
