"""Functions whose work is not done when they return."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from pytest_rlperf.awaiting import blocking, is_async, refuse_unused, runner
from pytest_rlperf.errors import FixtureError
from pytest_rlperf.worker.calls import Calls, Rounds


async def fetch(x: int = 1) -> int:
    await asyncio.sleep(0)
    return 2 * x


def plain(x: int = 1) -> int:
    return 2 * x


class Client:
    async def fetch(self, x: int) -> int:
        return await fetch(x)

    async def __call__(self, x: int) -> int:
        return await fetch(x)


def numbers() -> Iterator[int]:
    yield 1


async def async_numbers() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("func", [fetch, Client().fetch, Client(), functools.partial(fetch)])
def test_a_coroutine_function_is_awaited_whatever_wraps_it(func: Callable[..., Any]):
    assert is_async(func)
    assert blocking(func)(4) == 8


@pytest.mark.parametrize("func", [plain, Client, print, numbers, functools.partial(plain)])
def test_any_other_is_left_alone(func: Callable[..., Any]):
    assert not is_async(func)
    assert blocking(func) is func


def test_all_calls_of_a_slice_are_made():
    made = []

    async def count(x: int, *, step: int) -> int:
        await asyncio.sleep(0)
        made.append(x + step)
        return len(made)

    calls = Calls(count, (1,), {"step": 2})
    calls.warm(5)
    assert (made, calls.result) == ([3] * 5, 5)


def test_each_call_gets_its_own_state():
    states = iter(range(10))
    calls = Calls(fetch, setup=lambda: next(states))
    calls.warm(4)
    assert calls.result == 6


@pytest.mark.parametrize("setup", [None, lambda: ((3,), {})])
def test_counted_rounds_are_awaited_too(setup: Any):
    rounds = Rounds(fetch, () if setup else (3,), setup=setup, rounds=2)
    assert rounds.finish() == 6


def test_a_loop_that_is_there_is_used():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:

        async def mine() -> bool:
            return asyncio.get_running_loop() is loop

        assert blocking(mine)()
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_inside_of_a_running_loop_it_is_refused_with_what_to_write():
    async def test() -> None:
        runner()

    with pytest.raises(FixtureError, match=r"write `def test_\.\.\.` and hand it over"):
        asyncio.run(test())


@pytest.mark.parametrize(
    ("make", "cure"),
    [
        (lambda: fetch(1), r"rlperf\(fetch, argument\)"),
        (numbers, r"list\(func\(\)\)"),
        (async_numbers, r"list\(func\(\)\)"),
        (Future, r"func\(\)\.result\(\)"),
    ],
)
def test_what_nobody_used_is_refused_with_what_to_write(make: Callable[[], Any], cure: str):
    with pytest.raises(FixtureError, match=cure):
        refuse_unused(make())


def done() -> "Future[int]":
    future: Future[int] = Future()
    future.set_result(1)
    return future


def used() -> Iterator[int]:
    generator = numbers()
    next(generator)
    return generator


@pytest.mark.parametrize("result", [None, 1, [2], iter([3]), done(), used()])
def test_anything_else_is_a_result(result: Any):
    refuse_unused(result)
