"""Processes for the tests of shared memory, which start them by name, and how they end."""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_impls.runtimes.processes import SPAWNING

DEADLINE_S = 60.0


def start(target: Any, *args: Any) -> Any:
    process = SPAWNING.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def ended_well(process: Any) -> bool:
    process.join(DEADLINE_S)
    return bool(process.exitcode == 0)


def write_rows(ring: Any, n: int, seed: int) -> None:
    """Rows that know their number in every word, some at a time."""
    rng = np.random.default_rng(seed)
    done = 0
    while done < n:
        end = min(n, done + int(rng.integers(1, 40)))
        ring.put(np.repeat(np.arange(done, end, dtype=np.uint64)[:, None], ring.words, axis=1))
        done = end
