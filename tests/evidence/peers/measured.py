"""What one contestant did in one round."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Measured:
    per_s: float  # steps, updates or samples
    mean_return: float | None = None  # of the best validated checkpoint
    share: float | None = None  # of the FLOP/s of a bare matrix product in the same process
    beside_per_s: float | None = None  # of the other side, where both are measured in one process
    compile_s: float | None = None  # before the first call ends


TURNS = 20


def rates_of(calls: Sequence[Callable[[], object]], n: int) -> list[float]:
    """Of each, in turns: whatever slows the process for a while slows all of them."""
    part = max(1, n // TURNS)
    turns = [[rate_of(call, part) for call in calls] for _ in range(TURNS)]
    return [median(rates) for rates in zip(*turns, strict=True)]


def rate_of(call: Callable[[], object], n: int) -> float:
    """Calls a second of CPU time, the first one, which may compile, left out."""
    call()
    begin = time.process_time()
    for _ in range(n):
        call()
    return n / (time.process_time() - begin)
