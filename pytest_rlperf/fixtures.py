"""The `rlperf` fixture: in a worker it measures; in a plain test run it calls once."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rlperf.errors import FixtureError

if TYPE_CHECKING:
    from pytest_rlperf.measure.player import Player, Work

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


class Rlperf:
    """Measures one function a test. Calling it returns what the function returned last."""

    def __init__(self, player: "Player | None", steps: int | None) -> None:
        self._player = player
        self._steps = steps
        self._called = False

    def __call__(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Measure `func(*args, **kwargs)`."""
        return self._run(func, args, kwargs)

    def measure(
        self,
        func: Callable[..., Any],
        *,
        setup: Callable[[], Any] | None = None,
        steps: int | None = None,
        work: "Work" = None,
    ) -> Any:
        """Measure `func` with fresh state a call and declared work.

        `setup()` runs untimed before each call; what it returns, unless None, is handed to
        `func` as its only argument. `steps` is the number of steps in one call and turns time
        into steps/s. `work` maps the result to counts that must be equal on both sides.
        """
        return self._run(func, (), {}, setup, steps, work)

    def _run(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        setup: Callable[[], Any] | None = None,
        steps: int | None = None,
        work: "Work" = None,
    ) -> Any:
        if not callable(func):
            raise FixtureError(
                f"rlperf needs a function to call, not {type(func).__name__}; "
                "write rlperf(func, argument), not rlperf(func(argument))."
            )
        if self._called:
            raise FixtureError(
                "rlperf measures one call a test, and this is the second; "
                "split the test in two, or parametrize it."
            )
        self._called = True
        steps = checked_steps(self._steps if steps is None else steps)
        if self._player is not None:
            from pytest_rlperf.measure.loop import Calls

            return self._player.play(Calls(func, args, kwargs, setup), work, steps)
        if setup is None:
            return func(*args, **kwargs)
        state = setup()
        return func() if state is None else func(state)


def checked_steps(steps: int | None) -> int | None:
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
        raise FixtureError(f"steps is {steps!r}; give the whole number of steps one call makes.")
    return steps


@pytest.fixture
def rlperf(request: pytest.FixtureRequest) -> Rlperf:
    """Measure a function: `result = rlperf(func, *args, **kwargs)`."""
    from pytest_rlperf.markers import spec_of

    return Rlperf(player_of(request.config), spec_of(request.node).steps)


def player_of(config: pytest.Config) -> "Player | None":
    """The player of a worker session; a plain run has none, and imports no measuring code."""
    import sys

    worker = sys.modules.get("pytest_rlperf.measure.worker")
    return None if worker is None else config.stash.get(worker.PLAYER, None)
