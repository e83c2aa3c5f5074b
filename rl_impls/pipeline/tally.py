"""What an actor has done so far: counters that it writes and everybody reads.

Each number is whole. Two of them may be a moment apart: an episode may be counted that is missing
in the sum of returns, until the next look. Reading never keeps an actor waiting.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from rl_impls.runtimes.memory import NamelessMemory

_EPISODES, _VERSION, _RETURNS, _PEAK_RSS_BYTES, _N_NUMBERS = range(5)


class Tally:
    """Pickling hands it to a process that is being started."""

    def __init__(self, memory: NamelessMemory | None = None) -> None:
        self._memory: Final = memory or NamelessMemory(8 * _N_NUMBERS)
        self._counts: Final = np.frombuffer(self._memory.buffer, np.int64)
        self._sums: Final = np.frombuffer(self._memory.buffer, np.float64)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tally, (self._memory,)

    def add_episodes(self, n: int, returns: float) -> None:
        self._counts[_EPISODES] += n
        self._sums[_RETURNS] += returns

    def acts_with(self, version: int) -> None:
        self._counts[_VERSION] = version

    def used(self, peak_rss_bytes: int) -> None:
        self._counts[_PEAK_RSS_BYTES] = peak_rss_bytes

    @property
    def n_episodes(self) -> int:
        return int(self._counts[_EPISODES])

    @property
    def returns(self) -> float:
        """The sum over all episodes."""
        return float(self._sums[_RETURNS])

    @property
    def version(self) -> int:
        """Of the weights it acts with."""
        return int(self._counts[_VERSION])

    @property
    def peak_rss_bytes(self) -> int:
        """Known when it is done."""
        return int(self._counts[_PEAK_RSS_BYTES])
