"""What the history keeps of a test, and what it says of it: plain data, for whoever shows it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pytest_rlperf.model.block import ReferenceTime
from pytest_rlperf.model.metric import LEARNED, Direction, Interval
from pytest_rlperf.reading import Damage, Fits, Name, NotNegative, Whole, is_growth

# -- what is kept: all that trends need, without the blocks -------------------------------------


def _is_moment(text: str) -> bool:
    """Ask for an offset, so that dates can be put in order."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


Moment = Annotated[Name, Fits(_is_moment)]


@dataclass(frozen=True, slots=True)
class PastMetric:
    """One metric as it was measured and judged; fractions, positive means worse."""

    name: Name
    unit: Name
    direction: Annotated[str, Fits(tuple(Direction).__contains__)]
    value: float
    outcome: Name
    change: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: NotNegative | None = None
    blocks: Whole = 0

    def __post_init__(self) -> None:
        for name in () if self.name in LEARNED else ("change", "low", "high"):
            share = getattr(self, name)
            if share is not None and not is_growth(share):
                raise Damage(f".{name}")


@dataclass(frozen=True, slots=True)
class PastTest:
    """One line of the history: a test of a result."""

    nodeid: Name
    commit: Name
    created: Moment  # when it was measured
    metrics: tuple[PastMetric, ...]
    mode: str = "against"
    base: Name | None = None  # the commit it was compared with; None: a stored baseline, or nothing
    committed: Moment | None = None  # date of the commit; None: its repository was not at hand
    category: Name | None = None
    machine: str = ""
    python: str = ""  # version and compiler: builds of one version differ too
    source_hash: str = ""
    steal: float | None = None  # at most, a fraction
    drift: float | None = None  # from the first slice to the last, where that matters
    reference: ReferenceTime | None = None  # None: the reference kernels did not play

    @property
    def date(self) -> str:
        """The date by which it is put in order."""
        return self.committed or self.created


# -- what it says -------------------------------------------------------------------------------


class Signal(StrEnum):
    """The ground that the levels of a trend rest on, the most reliable first."""

    REFERENCE = "reference"  # time over that of the reference kernels, in the same slices
    FIXED = "fixed"  # duets of every commit with one and the same
    CHAIN = "chain"  # duets of every commit with the one before: changes that multiply
    SIZE = "size"  # amounts, which do not depend on the load of a machine
    RETURNS = "returns"  # what was learned, which does not depend on the machine at all
    CLOCK = "clock"  # plain times of different hours: nothing can be claimed from them


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One commit in a trend."""

    commit: str
    date: str
    value: float  # as measured, in the unit of the metric
    level: float  # change since the first point, a fraction; positive means worse
    outcome: str  # what its own run said


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A sudden change, after `before` and not after `after`."""

    before: str
    after: str
    index: int  # of the likeliest first point of the new level
    change: Interval


@dataclass(frozen=True, slots=True)
class Creep:
    """Many small changes, none of which need have failed, that add up."""

    since: str
    until: str
    commits: int
    change: Interval  # in total
    allowed: float  # of one change


@dataclass(frozen=True, slots=True)
class Recent:
    """The last points of a trend against those before."""

    points: int
    earlier: int
    change: float
    interval: Interval | None  # None: nothing is known of how such points scatter


@dataclass(frozen=True, slots=True)
class Trend:
    """One metric of one test over the commits."""

    nodeid: str
    category: str | None
    metric: str
    unit: str
    signal: Signal
    points: tuple[TrendPoint, ...]  # oldest first
    changes: tuple[ChangePoint, ...] | None = ()  # None: they were not looked for
    creep: Creep | None = None
    recent: Recent | None = None  # None: there are too few points
    left_out: int = 0  # points that cannot be compared with the newest


@dataclass(frozen=True, slots=True)
class Flaky:
    """A test whose verdicts rest on shaky ground, with what is behind it."""

    nodeid: str
    metric: str
    runs: int
    width: float  # half of the interval, in the typical run
    allowed: float
    undecided: float  # share of the runs
    steal: float  # in the typical run
    drift: float | None  # from the first slice to the last, where that is so in most runs
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The trends and the flaky tests of a history."""

    trends: tuple[Trend, ...] = ()
    flaky: tuple[Flaky, ...] = ()
    troubles: tuple[str, ...] = ()  # a sentence for each line that could not be read
