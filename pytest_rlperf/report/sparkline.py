"""A series of numbers as a row of blocks."""

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
MOST = 30
"""Points: what is older is not drawn."""
LEAST_RANGE = 0.05
"""From the lowest block to the highest: noise of a percent shall not look like a mountain."""


def sparkline(values: Sequence[float]) -> str:
    shown = values[-MOST:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    room = max(high - low, LEAST_RANGE)
    low -= (room - (high - low)) / 2
    steps = len(BLOCKS) - 1
    return "".join(BLOCKS[round((value - low) / room * steps)] for value in shown)
