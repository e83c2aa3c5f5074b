"""What one contestant did in one round."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    per_s: float  # steps, updates or samples
    mean_return: float | None = None  # of the best validated checkpoint
    share: float | None = None  # of the FLOP/s of a bare matrix product in the same process


def rate_of(call: Callable[[], object], n: int) -> float:
    """Calls a second of CPU time, the first one, which may compile, left out."""
    call()
    begin = time.process_time()
    for _ in range(n):
        call()
    return n / (time.process_time() - begin)
