"""Processes that disturb a core on purpose while a block runs: a metronome, and busy neighbours.

Run by path, as a process of its own, until its parent ends it.

The *metronome* wakes a core two thousand times a second, so that it changes between the two sides
as often. Left to itself the kernel lets each of two busy processes run for a tick or more (4 ms and
up), which is as long as the disturbances that are to hit both sides alike. A third process that
wakes and sleeps again makes the kernel choose anew each time, and it chooses the one that ran less.
Measured under load on two cores with calls of 10 ms: the spread between blocks fell from 2.2 to
1.6 %.

A *neighbour* computes or copies, so that a save sees how a test and the kernels bear it. What slows
a test down on a shared machine is a busy neighbour, and kernels of another kind bear it
differently. On a quiet machine nothing would tell which kernel goes with a test.
"""

import os
import sys
import time
from collections.abc import Callable

METRONOME, COMPUTE, STREAM = "metronome", "compute", "stream"
NEIGHBOURS = (None, COMPUTE, STREAM)
"""None: the core next to the block's is left alone."""
PERIOD_S = 0.0005
CHECK_EVERY = 1000
PIECE_BYTES = 4 << 20
PIECES = 16
ROUNDS = 20_000


def neighbour_of(index: int, cores: int) -> str | None:
    """Return the neighbour of a block: of three blocks in a row one is left alone and two are
    disturbed, each in another way; in the long run every core meets all three.
    """
    turn = index // cores if cores % len(NEIGHBOURS) == 0 else 0  # or they would go in step
    return NEIGHBOURS[(index + turn) % len(NEIGHBOURS)]


def disturb(kind: str, parent: int) -> None:
    """Disturb this core until `parent` is gone, however soon that is."""
    work = stream() if kind == STREAM else {METRONOME: beat, COMPUTE: compute}[kind]
    while os.getppid() == parent:
        work()


def beat() -> None:
    for _ in range(CHECK_EVERY):
        time.sleep(PERIOD_S)


def compute() -> None:
    value = 1
    for _ in range(ROUNDS):
        value = (value * 1103515245 + 12345) % 2147483648


def stream() -> Callable[[], None]:
    buffer = bytearray(b"\x01") * (PIECES * PIECE_BYTES)
    view = memoryview(buffer)

    def copy() -> None:
        for piece in range(1, PIECES):
            view[:PIECE_BYTES] = view[piece * PIECE_BYTES : (piece + 1) * PIECE_BYTES]

    return copy


if __name__ == "__main__":
    disturb(sys.argv[1], int(sys.argv[2]))
