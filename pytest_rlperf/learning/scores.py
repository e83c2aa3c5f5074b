"""From curves to one number a seed, and to the differences between the sides that are judged.

What is lost is a share of what the base learns: of the way from the worst return to the base. Of
several tasks a difference is the mean over the tasks, each in a unit of its own. Nothing of a pair
of seeds changes with the pairs that come after it, from the first that may decide on: bets on it
are made once.

What is shown beside it are interquartile means, the means of the middle half of the seeds, with
intervals of a bootstrap over the seeds of each task (Agarwal et al., NeurIPS 2021).
"""

import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pytest_rlperf.learning.bets import SeedLoss
from pytest_rlperf.model.learning import LEAST_SEEDS, Curve, LearningMetric, LearningSpec, Training

TRIMMED = 0.25
RESAMPLES = 2_000
TAIL = 0.025
NOTHING = 1e-9
"""Who gets no further from the worst return than this share of it has learned nothing."""


@dataclass(frozen=True, slots=True)
class TaskScores:
    """One task, a number a seed on each side."""

    head: tuple[float, ...]
    base: tuple[float, ...]
    worst: tuple[float, ...]  # what counts as nothing learned; one a pair, as it was known then
    metric: LearningMetric

    @property
    def learned(self) -> tuple[float, ...]:
        """Return what the base learned with each seed: what a loss is a share of."""
        return self._learned(self.base)

    @property
    def losses(self) -> tuple[float, ...]:
        """Return by how much head is worse, seed by seed."""
        sign = -1 if self.metric is LearningMetric.STEPS else 1
        pairs = zip(self.head, self.base, strict=True)
        return tuple(sign * (base - head) for head, base in pairs)

    @property
    def is_learned(self) -> bool:
        """Return whether the base learns anything that could be lost."""
        most = max(1.0, *map(abs, self.worst))
        return statistics.fmean(self.learned) > NOTHING * most

    @property
    def unit(self) -> float:
        """Return what differences of this task count by: what the better side of a pair learned, in
        the mean of the first pairs. Who of them is which makes no difference to it.
        """
        better = list(map(max, self._learned(self.head), self.learned))
        unit = statistics.fmean(better[:LEAST_SEEDS])
        return unit if unit > 0 else 1.0  # the first seeds may have learned nothing, later ones do

    def _learned(self, values: Sequence[float]) -> tuple[float, ...]:
        match self.metric:
            case LearningMetric.SOLVED:
                return (1.0,) * len(values)
            case LearningMetric.STEPS:
                return tuple(values)
            case _:
                return tuple(v - worst for v, worst in zip(values, self.worst, strict=True))


def scored(
    head: Sequence[Training], base: Sequence[Training], spec: LearningSpec
) -> dict[str, TaskScores]:
    """Return the numbers of these pairs by task; what is new on head has nothing to be compared
    with.
    """
    compared = base if any(training.curves for training in base) else (*head, *base)
    return {task: _task_scores(task, head, base, spec) for task in tasks_of(compared)}


def tasks_of(trainings: Sequence[Training]) -> tuple[str, ...]:
    """Return the tasks that any of them learned; where all have failed, the one without a name."""
    named = dict.fromkeys(task for training in trainings for task in training.curves)
    return tuple(named) or ("",)


def differences_of(tasks: Mapping[str, TaskScores]) -> tuple[SeedLoss, ...] | None:
    """Return the differences that are judged; None: there is a task that the base does not learn,
    so that nothing of it could be lost.
    """
    if not all(task.is_learned for task in tasks.values()):
        return None
    losses = _means((task.losses, task.unit) for task in tasks.values())
    learned = _means((task.learned, task.unit) for task in tasks.values())
    return tuple(map(SeedLoss, losses, learned))


def _means(tasks: Iterable[tuple[Sequence[float], float]]) -> Iterator[float]:
    """Yield for each seed the mean over the tasks, each in its unit."""
    return map(statistics.fmean, zip(*([x / unit for x in xs] for xs, unit in tasks), strict=True))


def worst_of(trainings: Sequence[Training], task: str, spec: LearningSpec) -> float:
    """Return what a failed seed counts as: what the test says, or the lowest return that any seed
    of either side was seen at; 0 where none lies below.
    """
    return _worst_so_far([_curves_of(trainings, task)], spec)[0]


def _task_scores(
    task: str, head: Sequence[Training], base: Sequence[Training], spec: LearningSpec
) -> TaskScores:
    pairs = [_curves_of(pair, task) for pair in zip(head, base, strict=True)]
    worst = _worst_so_far(pairs, spec)
    ends = (max((curve[-1][0] for curve in curves), default=0.0) for curves in pairs)
    longest = list(accumulate(ends, max))
    heads, bases = (
        tuple(
            _score(training.curves.get(task), spec, low, far)
            for training, low, far in zip(side, worst, longest, strict=True)
        )
        for side in (head, base)
    )
    return TaskScores(heads, bases, worst, spec.metric)


def _curves_of(trainings: Sequence[Training], task: str) -> list[Curve]:
    return [training.curves[task] for training in trainings if task in training.curves]


def _worst_so_far(pairs: Sequence[Sequence[Curve]], spec: LearningSpec) -> tuple[float, ...]:
    """Return for each pair what counts as the worst return, by it and those before it."""
    if spec.worst is not None:
        return (spec.worst,) * len(pairs)
    lowest = (min((v for curve in pair for _, v in curve if v < 0), default=0.0) for pair in pairs)
    return tuple(accumulate(lowest, min))


def _score(curve: Curve | None, spec: LearningSpec, worst: float, longest: float) -> float:
    """Return the number of one seed; without a curve it has failed."""
    goal = 0.0 if spec.goal is None else spec.goal
    match spec.metric:
        case LearningMetric.FINAL:
            return curve[-1][1] if curve else worst
        case LearningMetric.AREA:
            return _mean_over_steps(curve) if curve else worst
        case LearningMetric.STEPS:
            return next((steps for steps, value in curve or () if value >= goal), longest)
        case LearningMetric.SOLVED:
            return float(curve is not None and curve[-1][1] >= goal)


def _mean_over_steps(curve: Curve) -> float:
    """Return the area below the curve over its steps."""
    if len(curve) == 1:
        return curve[0][1]
    area = sum((s2 - s1) * (v1 + v2) / 2 for (s1, v1), (s2, v2) in pairwise(curve))
    return area / (curve[-1][0] - curve[0][0])


# -- what is shown --------------------------------------------------------------------------------


def interquartile_mean(values: Sequence[float]) -> float:
    cut = int(TRIMMED * len(values))
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


@dataclass(frozen=True, slots=True)
class Band:
    """The returns of one side's seeds after so many steps."""

    steps: float
    low: float  # a quarter of them lies below
    middle: float  # the interquartile mean
    high: float  # and a quarter above


def bands_of(trainings: Sequence[Training], task: str) -> list[Band]:
    """Return the course over the steps, of the seeds that did not fail."""
    curves = [training.curves[task] for training in trainings if task in training.curves]
    every = sorted({steps for curve in curves for steps, _ in curve})
    return [_band(steps, curves) for steps in every]


def _band(steps: float, curves: Sequence[Curve]) -> Band:
    values = sorted(_value_at(steps, curve) for curve in curves)
    low, high = (values[round(share * (len(values) - 1))] for share in (TRIMMED, 1 - TRIMMED))
    return Band(steps, low, interquartile_mean(values), high)


def _value_at(steps: float, curve: Curve) -> float:
    """Return the value on the line between two points; outside of the curve that of its end."""
    for (s1, v1), (s2, v2) in pairwise(curve):
        if s1 <= steps <= s2:
            return v1 + (v2 - v1) * (steps - s1) / (s2 - s1)
    return curve[0][1] if steps < curve[0][0] else curve[-1][1]


def bootstrap(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """Return the bounds of 95 % for the interquartile mean over seeds."""
    rng = random.Random(seed)
    means = sorted(interquartile_mean(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(TAIL * RESAMPLES)], means[int((1 - TAIL) * RESAMPLES) - 1]
