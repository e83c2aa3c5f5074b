"""Slices that get slower as a block goes on."""

from dataclasses import dataclass

from pytest_rlperf.model.verdict import Interval


@dataclass(frozen=True, slots=True)
class SideDrift:
    """One side: the last of the slices that were looked at against the first of a block."""

    change: Interval
    matters: bool  # beyond doubt, and by enough to care


@dataclass(frozen=True, slots=True)
class Drift:
    """What happens to the time of a test within its blocks."""

    slices: int  # looked at: as many as the shortest block has
    head: SideDrift
    base: SideDrift | None = None  # None: there is no base

    @property
    def sides(self) -> dict[str, SideDrift]:
        """Those there are, by name."""
        base = {} if self.base is None else {"base": self.base}
        return {**base, "head": self.head}
