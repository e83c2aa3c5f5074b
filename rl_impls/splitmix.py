"""SplitMix64 (Steele, Lea & Flood, 2014), the random numbers of compiled code.

The state is a counter, so that one number does not wait for the one before it, and every seed is a
good one. The same lines work on one number, on an array, and in compiled code. They are fixed: what
Numba has cached of them never goes stale.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError
from rl_impls.jit import inlined

GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = (np.uint64(shift) for shift in (11, 27, 30, 31))
# A float64 holds 53 bits.
_UNIT: Final = 2.0**-53
_MASK_64: Final = (1 << 64) - 1

Chance = NDArray[np.uint64]  # counters, one a stream


@inlined
def mixed(counter: Any) -> Any:
    """Return 64 random bits."""
    z = (counter ^ (counter >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@inlined
def unit(counter: Any) -> Any:
    """Return a number in [0, 1); times a whole number below 2**53 it stays below that number."""
    return (mixed(counter) >> _S11) * _UNIT


@inlined
def uniform(chance: Any, row: int, low: float, high: float) -> Any:
    """Return a number from [low, high), by the next value of the counter in this row."""
    chance[row] += GAMMA
    return low + (high - low) * unit(chance[row])


def streams(seed: int | None, n: int) -> Chance:
    """Return the first counters of n streams, equal for equal seeds and anybody's guess without
    one; the first k of them are the same for every n >= k."""
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if seed < 0:
        raise SettingError(f"a seed is a whole number from 0 on, not {seed}.")
    # In arrays, where NumPy lets the product wrap without a warning.
    first = mixed(np.array([seed & _MASK_64], np.uint64))
    counters: Chance = mixed(first + np.arange(1, n + 1, dtype=np.uint64) * GAMMA)
    return counters


def drawn(chance: Chance, n: int) -> NDArray[np.float64]:
    """Return the next `n` numbers in [0, 1), those that compiled code draws from the first
    counter."""
    counters = chance[0] + np.arange(1, n + 1, dtype=np.uint64) * GAMMA
    chance[0] = counters[-1]
    return unit(counters)  # type: ignore[no-any-return]
