"""What is known of a named part of a measured function."""

from dataclasses import dataclass

from pytest_rlperf.model.verdict import Interval

OUTSIDE = "outside of phases"


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """One phase over all blocks; `OUTSIDE` is what no phase holds."""

    name: str
    share: float  # of head's time
    ns: float  # a call
    base_share: float | None = None  # None: there is no base, or it has no phases
    base_ns: float | None = None
    adds: Interval | None = None  # to the time of the whole call, a fraction of the base's
    moved: bool = False  # beyond doubt, and by enough to care
