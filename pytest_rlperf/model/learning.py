"""What a training gave on one side: curves of returns by seed, and how a test wants them judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

Point = tuple[float, float]
"""Steps, and the return there."""
Curve = tuple[Point, ...]


STORED_POINTS = 50
"""A stored curve has no more: baselines are committed."""


def thinned(curve: Curve) -> Curve:
    """Return at most `STORED_POINTS` of a curve, evenly, with both ends. Curves of equal length
    keep the same points, and one that was thinned stays as it is.
    """
    last = len(curve) - 1
    if last < STORED_POINTS:
        return curve
    return tuple(curve[round(i * last / (STORED_POINTS - 1))] for i in range(STORED_POINTS))


class LearningMetric(StrEnum):
    """What is judged of a training: one number a seed."""

    FINAL = "final"  # the return at the end
    AREA = "area"  # the mean return over all steps
    STEPS = "steps"  # until a return is reached for the first time
    SOLVED = "solved"  # the share of seeds that reach it at the end


LEAST_SEEDS = 6
"""Fewer make nobody sure, whatever they say."""
MOST_SEEDS = 64
THRESHOLD = 0.10


@dataclass(frozen=True, slots=True)
class LearningSpec:
    """How a test wants its trainings to be run and judged."""

    threshold: float = THRESHOLD  # allowed loss, a share of what the base learns
    metric: LearningMetric = LearningMetric.FINAL  # the number of a seed that is judged
    seeds: tuple[int, ...] = tuple(range(MOST_SEEDS))  # at most these, in their order
    timeout: float = 300.0  # seconds for one training; one that takes longer has failed
    goal: float | None = None  # the return that steps and solved are about
    worst: float | None = None  # the return of who learns nothing; None: the lowest seen, or 0


LEARNING_KEYWORDS = tuple(f.name for f in fields(LearningSpec))


@dataclass(frozen=True, slots=True)
class Training:
    """One seed on one side. A training that fails is a result: the worst that there can be."""

    seed: int
    curves: Mapping[str, Curve] = field(default_factory=dict)  # by task; "": there is one only
    failure: str | None = None  # its traceback, or how it ended
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not self.curves and self.failure is None:
            raise ValueError("a training has a curve, or says why not")

    def thinned(self) -> "Training":
        """Return it with curves as they are stored."""
        curves = {task: thinned(curve) for task, curve in self.curves.items()}
        return replace(self, curves=curves)

    @property
    def last_words(self) -> str | None:
        """The last line of how it ended, without the frames; None: it did not fail."""
        return self.failure and (self.failure.strip().splitlines() or [""])[-1]

    def is_identical(self, other: "Training") -> bool:
        """Return whether both learned the same, bit for bit."""
        learned = self.failure is None and other.failure is None
        return learned and self.seed == other.seed and self.curves == other.curves


@dataclass(frozen=True, slots=True)
class LearningResult:
    """All trainings of a test, pair by pair."""

    metric: LearningMetric
    head: tuple[Training, ...]
    base: tuple[Training, ...] = ()
    goal: float | None = None
    worst: float | None = None  # what a failed seed counts as; None: nothing was measured

    @property
    def has_curves(self) -> bool:
        """Whether there is more to draw than returns at the end."""
        return any(len(c) > 1 for each in (*self.head, *self.base) for c in each.curves.values())
