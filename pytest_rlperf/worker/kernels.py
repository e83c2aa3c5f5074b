"""Reference kernels: small fixed workloads that a test's time is measured in.

A stored baseline cannot bring back the machine as it was. So it holds ratios: the test's time over
that of a kernel which ran at the same moment on the same core, and slows down for the same reasons.
Kinds of work bear a busy neighbour differently, so there are several; which of them a test is
measured in is found by saving it and by comparing with it.

A kernel must never change: stored ratios would silently mean something else. `EDITION` names this
set of them, and is part of what must match. Without numpy there are those that do not need it.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from typing import Any

EDITION = 1

INTERPRETER, COMPILED, STRIDE = "interpreter", "compiled", "stride"
BLAS, CHAIN, GATHER = "blas", "chain", "gather"
NEED_NUMPY = frozenset({BLAS, CHAIN, GATHER})
NAMES = frozenset({INTERPRETER, COMPILED, STRIDE}) | NEED_NUMPY

PIECE_CALLS = {INTERPRETER: 12, COMPILED: 4, STRIDE: 4, BLAS: 9, CHAIN: 7, GATHER: 3}
"""Calls of a kernel, one after the other, until the next one has its turn: about a third of a
millisecond on the machine they were made on. As little to be changed as the kernels.
"""

Kernel = Callable[[], Any]

LOOPS = 256
STATES = 256
SMALL = 127
MATRIX = 96
PRODUCTS = 1
LINKS = 2048
CHAINS = 6
MEMORY_BYTES = 32 << 20
STEP_BYTES = 8256
"""Another page and another cache line every time: no prefetcher follows."""
PASSES = 2
LINE_BYTES = 64
GATHERED = 8192
WEYL = 0x9E3779B1
"""Odd, so its multiples visit every element once before they repeat."""
MODULUS = (1 << 521) - 1
EXPONENT = (1 << 96) + 12345


def make_kernels() -> dict[str, Kernel]:
    """Make fresh kernels with their own data, about 50 µs a call each."""
    kernels = {INTERPRETER: make_interpreter(), COMPILED: exponentiate, STRIDE: make_stride()}
    with suppress(ImportError):
        kernels |= {BLAS: make_blas(), CHAIN: make_chain(), GATHER: make_gather()}
    return kernels


class _Walk:
    """A walk through a small table; no number in it is large enough to be allocated."""

    __slots__ = ("place", "table")

    def __init__(self) -> None:
        self.table = [(5 * number + 3) % STATES for number in range(STATES)]
        self.place = 0

    def step(self, by: int) -> int:
        self.place = self.table[self.place ^ by]
        return self.place


def make_interpreter() -> Kernel:
    """Make a kernel of calls, attributes, small integers, a list and a dictionary, but of no
    allocation: now and then that is slow for as long as a process lives (see docs/measuring.md).
    """
    walk = _Walk()
    counts = dict.fromkeys(range(STATES), 0)

    def interpret() -> int:
        for number in range(LOOPS):
            place = walk.step(number)
            counts[place] = (counts[place] + 1) & SMALL
        return walk.place

    return interpret


def exponentiate() -> int:
    """Do integer arithmetic in compiled code that stays in the first cache."""
    return pow(3, EXPONENT, MODULUS)


def make_stride() -> Kernel:
    """Make a kernel that reads single bytes, each from another page, in compiled code.

    Filled, not zeroed: untouched pages would all be one page in the cache.
    """
    data = bytearray(b"\x01") * MEMORY_BYTES
    offsets = cycle(range(0, STEP_BYTES, LINE_BYTES))

    def read() -> int:
        return sum(len(data[next(offsets) :: STEP_BYTES]) for _ in range(PASSES))

    return read


def make_gather() -> Kernel:
    """Make a kernel that reads single numbers in scattered order; large arrays of numpy lie in
    large pages.
    """
    import numpy as np

    length = MEMORY_BYTES // 8
    data = np.arange(length, dtype=np.float64)
    order = (np.arange(length, dtype=np.int64) * WEYL % length).reshape(-1, GATHERED)
    out = np.empty(GATHERED)
    rows = cycle(range(len(order)))

    def gather() -> Any:
        # "clip" lets numpy write straight into `out`; the indices are all in range.
        return np.take(data, order[next(rows)], out=out, mode="clip")

    return gather


def make_chain() -> Kernel:
    """Make a kernel in which every sum waits for the one before it: what other kernels lose to a
    neighbour on the same core, code that waits for itself does not.
    """
    import numpy as np

    sums = np.zeros(LINKS)

    def accumulate() -> Any:
        for _ in range(CHAINS):
            np.add.accumulate(sums, out=sums)
        return sums

    return accumulate


def make_blas() -> Kernel:
    """Make a kernel that multiplies matrices by the library that numpy was built with."""
    import numpy as np

    left = np.linspace(0.0, 1.0, MATRIX * MATRIX).reshape(MATRIX, MATRIX)
    right = left.T.copy()
    out = np.empty_like(left)

    def multiply() -> Any:
        for _ in range(PRODUCTS):
            np.matmul(left, right, out=out)
        return out

    return multiply
