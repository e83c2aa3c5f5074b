"""One test of one result, as the history keeps it: what trends need, without the blocks."""

from collections.abc import Mapping
from dataclasses import dataclass, field

DATA_BRANCH = "rlperf-data"
"""That holds it, unless another is named."""


@dataclass(frozen=True, slots=True)
class PastMetric:
    """What was measured and said of one metric; fractions, positive means worse."""

    name: str
    unit: str
    direction: str
    value: float
    outcome: str
    change: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    blocks: int = 0


@dataclass(frozen=True, slots=True)
class ReferenceTime:
    """A test's time over that of each reference kernel (log scale)."""

    edition: int  # of the kernels
    log_ratios: Mapping[str, float]
    weights: Mapping[str, float] = field(default_factory=dict)  # of its unit; empty: not chosen


@dataclass(frozen=True, slots=True)
class PastTest:
    """One line of the history."""

    nodeid: str
    commit: str
    created: str  # when it was measured
    metrics: tuple[PastMetric, ...]
    mode: str = "against"
    base: str | None = None  # the commit it was compared with; None: a stored baseline, or nothing
    committed: str | None = None  # date of the commit; None: its repository was not at hand
    category: str | None = None
    machine: str = ""
    python: str = ""  # version and compiler: builds of one version differ too
    source_hash: str = ""
    steal: float | None = None  # at most, a fraction
    drift: float | None = None  # from the first slice to the last, where that matters
    reference: ReferenceTime | None = None  # None: the reference kernels did not play

    @property
    def date(self) -> str:
        """Where it stands in the history."""
        return self.committed or self.created
