"""Work in equal units of about 0.1 ms, so that 110 units for 100 are 10 % more, exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import config

Unit = Callable[[], float]

MIB = 2**20
LINE_BYTES = 64
FLOAT_BYTES = 8
WEYL = 0x9E3779B1


class Work:
    """One benchmark's function: a call runs its units, every ``EVERY``-th call ``EXTRA`` more."""

    def __init__(self, unit: Unit, extra: int | None = None) -> None:
        self._unit = unit
        self._extra = config.EXTRA if extra is None else extra
        self._calls = 0

    def __call__(self) -> float:
        units = units_of_call(self._calls, self._extra)
        self._calls += 1
        unit = self._unit
        total = 0.0
        for _ in range(units * config.SCALE):
            total += unit()
        return total


def units_of_call(call: int, extra: int) -> int:
    """The number of units in the call with this ordinal (from 0)."""
    is_slow = call % config.EVERY == config.EVERY - 1
    return config.UNITS + (extra if is_slow else 0)


def make(name: str, extra: int | None = None) -> Work:
    """Fresh work by name, with its own data and call counter."""
    return Work(UNITS_BY_NAME[name](), extra)


def integer_sum(numbers: int = 1500) -> Unit:
    def unit() -> float:
        total = 0
        for number in range(numbers):
            total += number * number % 7
        return float(total)

    return unit


def dictionary_updates() -> Unit:
    keys = [f"key-{number % 97}" for number in range(1550)]

    def unit() -> float:
        counts: dict[str, int] = {}
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
        return float(len(counts))

    return unit


class _Counter:
    def __init__(self) -> None:
        self.value = 0

    def add(self, amount: int) -> None:
        self.value += amount


def method_calls() -> Unit:
    def unit() -> float:
        counter = _Counter()
        for number in range(1200):
            counter.add(number)
        return float(counter.value)

    return unit


def text_building() -> Unit:
    words = [f"w{number}" for number in range(800)]

    def unit() -> float:
        parts = [word.upper() + "-" + word for word in words]
        return float(len(" ".join(parts)))

    return unit


def matrix_products(size: int, products: int) -> Unit:
    rng = np.random.default_rng(size)
    left, right = rng.standard_normal((2, size, size))
    out = np.empty((size, size))

    def unit() -> float:
        for _ in range(products):
            np.matmul(left, right, out=out)
        return float(out[0, 0])

    return unit


def random_gather(mib: int, gathers: int) -> Unit:
    """Reads in random order; the cursor outlives the call, so no unit finds a warmer cache."""
    length = mib * MIB // FLOAT_BYTES
    data = np.arange(length, dtype=np.float64)
    # A Weyl sequence visits every element once in scattered order, and is made in no time.
    order = np.arange(length, dtype=np.int64) * WEYL % length
    windows = order[: length // gathers * gathers].reshape(-1, gathers)
    out = np.empty(gathers)
    cursor = 0

    def unit() -> float:
        nonlocal cursor
        # "clip" lets numpy write straight into `out`; the indices are all in range.
        np.take(data, windows[cursor], out=out, mode="clip")
        cursor = (cursor + 1) % len(windows)
        return float(out[0])

    return unit


def strided_pass(mib: int, rows: int) -> Unit:
    """Sums columns, each in cache lines of its own; rows are odd in lines to spread over sets."""
    lines = mib * MIB // (rows * LINE_BYTES) | 1
    step = LINE_BYTES // FLOAT_BYTES
    data = np.ones((rows, lines * step))
    cursor = 0

    def unit() -> float:
        nonlocal cursor
        total = data[:, cursor * step].sum()
        cursor = (cursor + 1) % lines
        return float(total)

    return unit


def compiled_walk(steps: int) -> Unit:
    """Scalar code made by numba: a random walk over a table, as compiled learners do it."""
    import numba

    table = np.arange(512, dtype=np.int64) * 7919 % 512

    @numba.njit(cache=True)
    def walk(table: np.ndarray, state: int, steps: int) -> int:
        for _ in range(steps):
            state = table[(state * 5 + 3) & 511] ^ (state >> 1)
        return state

    state = int(walk(table, 1, 1))

    def unit() -> float:
        nonlocal state
        state = int(walk(table, state, steps))
        return float(state)

    return unit


def mixed() -> Unit:
    """A little of each kind in every unit, as in a training step."""
    parts = (integer_sum(300), matrix_products(64, 1), random_gather(32, 2_400))

    def unit() -> float:
        return sum(part() for part in parts)

    return unit


UNITS_BY_NAME: dict[str, Callable[[], Unit]] = {
    "interpreter_sum": integer_sum,
    "interpreter_dict": dictionary_updates,
    "interpreter_calls": method_calls,
    "interpreter_text": text_building,
    "blas_64": lambda: matrix_products(64, 6),
    "blas_96": lambda: matrix_products(96, 2),
    "blas_128": lambda: matrix_products(128, 1),
    "memory_gather_32": lambda: random_gather(32, 12_000),
    "memory_gather_8": lambda: random_gather(8, 20_000),
    "memory_stride_32": lambda: strided_pass(32, 20_480),
    "compiled_walk": lambda: compiled_walk(25_000),
    "mix_of_kinds": mixed,
}
