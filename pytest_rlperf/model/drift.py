"""Slices that get slower as a block goes on."""

from dataclasses import dataclass

from pytest_rlperf.model.verdict import Interval


@dataclass(frozen=True, slots=True)
class SideDrift:
    """One side: the last slice of a block against its first."""

    change: Interval
    matters: bool  # beyond doubt, and by enough to care


@dataclass(frozen=True, slots=True)
class Drift:
    """What happens to the time of a test within its blocks."""

    slices: int  # of a typical block
    head: SideDrift
    base: SideDrift | None = None  # None: there is no base
