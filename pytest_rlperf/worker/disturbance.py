"""Disturbs a core on purpose, so that a save sees how a test and the kernels bear it.

What slows a test down on a shared machine is a busy neighbour, and kernels of another kind bear it
differently. On a quiet machine nothing would tell which kernel goes with a test. Run by path, as a
process of its own, until its parent ends it.
"""

import os
import sys
from collections.abc import Callable

COMPUTE, STREAM = "compute", "stream"
SHAKES = (None, COMPUTE, STREAM)
PIECE_BYTES = 4 << 20
PIECES = 16
ROUNDS = 20_000


def shake_of(index: int, cores: int) -> str | None:
    """Of three blocks in a row one is left alone and two are disturbed, each in another way; in the
    long run every core meets all three.
    """
    turn = index // cores if cores % len(SHAKES) == 0 else 0  # or they would go in step
    return SHAKES[(index + turn) % len(SHAKES)]


def shake(kind: str, parent: int) -> None:
    """Until `parent` is gone, however soon that is."""
    work = stream() if kind == STREAM else compute
    while os.getppid() == parent:
        work()


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
    shake(sys.argv[1], int(sys.argv[2]))
