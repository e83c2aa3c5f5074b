"""Waiting for worker processes without a thread: what waits is a generator that yields the
descriptors it listens to, so that one loop can drive several of them in turns.
"""

from collections.abc import Generator, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import TypeVar

POLL_S = 0.25
"""How often a process is looked at that says nothing: it may have ended."""

LANES_MAX = 4
"""A bound on the memory that they take together; more than two at once were not tried."""

Item = TypeVar("Item")

Waiting = Generator[list[int], None, Item]
"""Yields the descriptors on which something may arrive, and returns what came of it."""
Lane = Generator[Item | list[int], None, None]
"""Yields one thing after the other, and in between the descriptors that it waits for."""


def waited_for(waiting: Waiting[Item]) -> Item:
    """Return what a single one comes to."""
    while True:
        try:
            descriptors = next(waiting)
        except StopIteration as ended:
            result: Item = ended.value
            return result
        wait(descriptors, POLL_S)


def in_turns(lanes: Sequence[Lane[Item]]) -> Generator[Item, None, None]:
    """Let all lanes go on until all have ended; yield what they give. What ends this ends them."""
    running = list(lanes)
    try:
        while running:
            awaited: list[int] = []
            idle = True
            for lane in list(running):
                try:
                    given = next(lane)
                except StopIteration:
                    running.remove(lane)
                    idle = False
                    continue
                if isinstance(given, list):
                    awaited += given
                else:
                    idle = False
                    yield given
            if idle:
                wait(awaited, POLL_S)
    except BaseException as error:
        for lane in running:
            with suppress(BaseException):
                lane.throw(error)
        raise
