"""Who does how many of the steps that are left: in proportion to measured speed.

Processes take their steps piece by piece, half of their share of what is left at most (factoring;
Hummel, Schonberg & Flynn, 1992): so all end at about the same time, however the machine treats each
of them meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

# The last pieces become small; below this part of a whole one, merging costs more than it saves.
SMALLEST_PIECE: Final = 1 / 32
# The part that the latest steps have in a measured speed.
NEWS: Final = 0.3


def shares(total: int, speeds: Sequence[float]) -> list[int]:
    """`total` split in proportion to `speeds`. The parts are whole and sum to the total.

    A speed of 0 is one that is not known yet, and counts as the mean of the known ones.
    """
    known = [speed for speed in speeds if speed > 0]
    mean = sum(known) / len(known) if known else 1.0
    ends = np.cumsum([speed if speed > 0 else mean for speed in speeds])
    # Rounding where each part ends, instead of each part, leaves nothing over.
    edges = [round(total * (end / ends[-1])) for end in ends.tolist()[:-1]] + [total]
    return [edge - before for before, edge in zip([0, *edges[:-1]], edges, strict=True)]


def next_piece(left: int, speeds: Sequence[float], worker: int, steps_per_sync: int) -> int:
    """How many of the `left` steps this worker does before it merges again."""
    least = max(1, int(steps_per_sync * SMALLEST_PIECE))
    half_share = shares(left, speeds)[worker] // 2
    return min(left, max(least, half_share), steps_per_sync)


def blended(before: float, latest: float) -> float:
    """A speed that follows the latest one, and not its every whim; `before` is 0 if unknown."""
    return NEWS * latest + (1 - NEWS) * (before or latest)
