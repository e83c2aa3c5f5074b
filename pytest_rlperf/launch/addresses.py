"""Start processes without address space randomisation.

Both sides of a block then have the interpreter and its libraries at the same addresses, as two
copies of one program. At random ones each process is faster or slower for its whole life, by what
collides in the branch predictor and the instruction cache. Where data lies is still drawn for each
process, by `measure/layout.py`.
"""

import functools
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ADDR_NO_RANDOMIZE = 0x0040000
ASK = 0xFFFFFFFF
"""Changes nothing, and returns what is set."""


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """A child inherits it from the thread that makes it, and it counts when a program is loaded;
    this process stays as it is. Where the system refuses, addresses stay random."""
    personality = _personality()
    before = personality(ASK)
    if before < 0 or personality(before | ADDR_NO_RANDOMIZE) < 0:
        yield
        return
    try:
        yield
    finally:
        personality(before)


@functools.cache
def can_fix_addresses() -> bool:
    """Not everywhere on Linux: containers may forbid it."""
    with fixed_addresses():
        found = _personality()(ASK)
    return found >= 0 and bool(found & ADDR_NO_RANDOMIZE)


@functools.cache
def _personality() -> Callable[[int], int]:
    """Linux's system call; elsewhere one that always fails."""
    if platform.system() != "Linux":
        return lambda _: -1
    import ctypes

    libc = ctypes.CDLL(None)
    libc.personality.argtypes = [ctypes.c_ulong]
    return libc.personality
