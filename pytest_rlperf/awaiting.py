"""Functions whose work is not done when they return.

Coroutine functions are awaited on an event loop. Who returns a generator or a future that nobody
uses is refused: its making would be measured, and not what it stands for.
"""

import atexit
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_rlperf.errors import FixtureError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop  # takes 30 ms to import, and most tests await nothing

Run = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine to its end; returns its result."""

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these

PENDING = (("concurrent.futures", "Future"), ("asyncio", "Future"))
"""Modules and classes of what has a result later; who has not imported them returns none."""


def is_async(func: Callable[..., Any]) -> bool:
    """Return whether a call gives a coroutine, also of a method, a partial or a callable object."""
    return inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(type(func).__call__)


def blocking(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns when the work is done: of a coroutine function, one that
    awaits it.
    """
    if not is_async(func):
        return func
    run = runner()
    return lambda *args, **kwargs: run(func(*args, **kwargs))


def runner() -> Run:
    """Return what runs coroutines: the thread's own event loop, on which fixtures of pytest-asyncio
    may have made what the test uses, or a new one.
    """
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return (_current_loop() or _own_loop()).run_until_complete
    raise FixtureError(
        "a coroutine function cannot be measured inside of an async test, whose event loop is "
        "busy with the test; write `def test_...` and hand it over: rlperf(fetch, argument) awaits "
        "every call."
    )


def _current_loop() -> "AbstractEventLoop | None":
    """Return the loop that somebody has set; None: nobody has, or it is closed."""
    import asyncio

    loop: AbstractEventLoop | None = None
    if sys.version_info < (3, 12):  # to ask for it would make one, which nobody closes
        loop = getattr(getattr(asyncio.get_event_loop_policy(), "_local", None), "_loop", None)
    else:
        with warnings.catch_warnings(), suppress(RuntimeError, DeprecationWarning):
            warnings.simplefilter("error", DeprecationWarning)  # where it would make one
            loop = asyncio.get_event_loop()
    return None if loop is None or loop.is_closed() else loop


@functools.cache
def _own_loop() -> "AbstractEventLoop":
    import asyncio

    loop = asyncio.new_event_loop()
    atexit.register(loop.close)
    return loop


def refuse_unused(result: Any) -> None:
    """Refuse a result that stands for work which is still to be done."""
    if inspect.iscoroutine(result):
        result.close()
        raise FixtureError(
            "the measured function returned a coroutine that nobody awaited; hand over the "
            "coroutine function itself, rlperf(fetch, argument), and every call is awaited."
        )
    if _is_unused_generator(result):
        raise FixtureError(
            "the measured function returned a generator that nobody used, and only its making "
            "would be measured; use it up inside: rlperf(lambda: list(func()))."
        )
    if _is_pending(result):
        raise FixtureError(
            "the measured function returned a future that is not done; wait for it inside: "
            "rlperf(lambda: func().result())."
        )


def _is_unused_generator(result: Any) -> bool:
    if inspect.isasyncgen(result):
        return not result.ag_running and result.ag_frame is not None
    return inspect.isgenerator(result) and inspect.getgeneratorstate(result) == inspect.GEN_CREATED


def _is_pending(result: Any) -> bool:
    kinds = (getattr(sys.modules.get(module), name, None) for module, name in PENDING)
    return any(kind and isinstance(result, kind) and not result.done() for kind in kinds)
