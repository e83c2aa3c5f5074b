"""The `benchmark` fixture of pytest-benchmark and of pytest-codspeed, played by the player.

Their classes are kept, since pytest-benchmark insists on its own and tests look into it; only the
methods that make the calls are replaced. A worker lives to measure, so nobody misses them.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.worker.calls import Arguments, Calls, Rounds
from pytest_rlperf.worker.clock import Clock, Elapsed
from pytest_rlperf.worker.player import Player

MANY_CALLS = (
    "rlperf calls this function many times over, as the benchmark fixture does without it; if it "
    "raises at a later call only, give every call fresh state: benchmark.pedantic(func, setup=...)."
)

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these

Setup = Callable[..., Any] | None


def adopt_benchmark(player: Player) -> None:
    """Let the fixture of each of the plugins that is there measure with `player`."""
    for name, adopt in (
        ("pytest_benchmark.plugin", _adopt_pytest_benchmark),
        ("pytest_codspeed.plugin", _adopt_pytest_codspeed),
    ):
        plugin = sys.modules.get(name)
        if plugin is not None:
            adopt(vars(plugin)["BenchmarkFixture"], player)


class NotedCalls(Calls):
    """Keeps the time of a call in every slice, for `benchmark.stats`."""

    def __init__(
        self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, object]
    ) -> None:
        super().__init__(func, args, kwargs)
        self.iterations = 1
        self._times_ns: list[float] = []
        self._untimed_ns: list[float] = []

    @property
    def times_ns(self) -> list[float]:
        """The time of a call in each slice; where the partner could not play there is none, but a
        test may ask: then that of the untimed calls.
        """
        return self._times_ns or self._untimed_ns

    def once(self) -> Any:
        begun = time.perf_counter_ns()
        result = super().once()
        self._untimed_ns.append(time.perf_counter_ns() - begun)
        return result

    def timed(self, calls: int, clock: Clock) -> Elapsed:
        elapsed = super().timed(calls, clock)
        self.iterations = calls
        self._times_ns.append(elapsed.own_ns / calls)
        return elapsed


def _adopt_pytest_benchmark(fixture_class: Any, player: Player) -> None:
    def raw(fixture: Any, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        calls = NotedCalls(func, args, kwargs)
        result = player.play(calls, None, None, MANY_CALLS)
        _fill_stats(fixture, calls)
        return result

    def raw_pedantic(
        fixture: Any,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, object] | None = None,
        setup: Setup = None,
        **how: Any,
    ) -> Any:
        arguments = None if setup is None else _arguments_of(setup, args, kwargs or {})
        rounds = _rounds(target, args, kwargs, arguments, **how)
        result = _play(player, rounds)
        _fill_stats(fixture, rounds)
        return result

    fixture_class._raw = raw
    fixture_class._raw_pedantic = raw_pedantic


def _adopt_pytest_codspeed(fixture_class: Any, player: Player) -> None:
    """Replace its calls: switched off, it checks that it is used once, and calls what it gets."""
    call, pedantic = fixture_class.__call__, fixture_class.pedantic

    def play(fixture: Any, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        calls = NotedCalls(func, args, kwargs)
        return call(fixture, lambda: player.play(calls, None, None, MANY_CALLS))

    def play_pedantic(
        fixture: Any,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, object] | None = None,
        setup: Setup = None,
        **how: Any,
    ) -> Any:
        arguments = None
        if setup is not None:  # unlike pytest-benchmark's, it gets the arguments itself
            arguments = _arguments_of(lambda: setup(*args, **kwargs or {}), args, kwargs or {})
        rounds = _rounds(target, args, kwargs, arguments, **how)
        return pedantic(fixture, lambda: _play(player, rounds))

    fixture_class.__call__ = play
    fixture_class.pedantic = play_pedantic


def _arguments_of(
    setup: Callable[[], Any], args: Sequence[Any], kwargs: Mapping[str, object]
) -> Callable[[], Arguments]:
    """Return what makes a call's arguments: `setup` returns them, or nothing if they are given."""

    def arguments() -> Arguments:
        made = setup()
        if not made:
            return args, kwargs
        if args or kwargs:
            raise FixtureError(
                "benchmark.pedantic got arguments for its target, and setup returned others; "
                "give them in one place."
            )
        made_args, made_kwargs = made
        return made_args, made_kwargs

    return arguments


def _rounds(
    target: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, object] | None,
    setup: Callable[[], Arguments] | None,
    teardown: Callable[..., Any] | None = None,
    rounds: int = 1,
    warmup_rounds: int = 0,
    iterations: int = 1,
) -> Rounds:
    _check("rounds", rounds, least=1)
    _check("iterations", iterations, least=1)
    _check("warmup_rounds", warmup_rounds, least=0)
    if setup is not None and iterations > 1:
        raise FixtureError(
            "benchmark.pedantic makes one call after each setup, so iterations must be 1; "
            "give it more rounds."
        )
    return Rounds(
        target,
        args,
        kwargs,
        setup=setup,
        teardown=teardown,
        rounds=rounds,
        iterations=iterations,
        warmup=warmup_rounds,
    )


def _check(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or value < least:
        raise FixtureError(
            f"benchmark.pedantic({name}={value!r}) is no number of calls to make; "
            f"give it a whole number, {least} or more."
        )


def _play(player: Player, rounds: Rounds) -> Any:
    player.play(rounds, None, None, None)
    return rounds.finish()


def _fill_stats(fixture: Any, calls: NotedCalls | Rounds) -> None:
    # Forgotten: the session would group them at its end, for no one.
    fixture._add_stats = lambda stats: None
    stats = fixture._make_stats(calls.iterations)
    for ns in calls.times_ns:
        stats.stats.update(ns / 1e9)
