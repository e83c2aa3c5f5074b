"""From curves to one number a seed, and to the difference between the sides that is judged.

A difference is a share of what the base learns: of the way from the worst return to the mean of the
base. Of several tasks it is the mean over the tasks, each on its own scale.

What is shown beside it are interquartile means, the means of the middle half of the seeds, with
intervals of a bootstrap over the seeds of each task (Agarwal et al., NeurIPS 2021).
"""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_rlperf.model.learning import Curve, LearningMetric, LearningSpec, Training

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
    scale: float  # what a difference is a share of; 0: the base learns nothing
    higher_is_better: bool

    @property
    def differences(self) -> tuple[float, ...]:
        """Return by how much head is worse, seed by seed, as shares."""
        sign = 1 if self.higher_is_better else -1
        pairs = zip(self.head, self.base, strict=True)
        return tuple(sign * (base - head) / self.scale for head, base in pairs)


def scored(
    head: Sequence[Training], base: Sequence[Training], spec: LearningSpec
) -> dict[str, TaskScores]:
    """Return the numbers of these pairs by task."""
    every = (*head, *base)
    return {task: _task_scores(task, head, base, spec) for task in tasks_of(every)}


def tasks_of(trainings: Sequence[Training]) -> tuple[str, ...]:
    """Return the tasks that any of them learned; where all have failed, the one without a name."""
    named = dict.fromkeys(task for training in trainings for task in training.curves)
    return tuple(named) or ("",)


def differences_of(tasks: dict[str, TaskScores]) -> tuple[float, ...] | None:
    """Return the differences that are judged; None: there is a task that the base does not learn,
    so that nothing of it could be lost.
    """
    if not all(task.scale for task in tasks.values()):
        return None
    parts = zip(*(task.differences for task in tasks.values()), strict=True)
    return tuple(map(statistics.fmean, parts))


def worst_of(trainings: Sequence[Training], task: str, spec: LearningSpec) -> float:
    """Return what a failed seed counts as: what the test says, or the lowest return that any seed
    of either side was seen at; 0 where none lies below.
    """
    if spec.worst is not None:
        return spec.worst
    curves = (training.curves.get(task, ()) for training in trainings)
    return min((value for curve in curves for _, value in curve if value < 0), default=0.0)


def _task_scores(
    task: str, head: Sequence[Training], base: Sequence[Training], spec: LearningSpec
) -> TaskScores:
    every = (*head, *base)
    worst = worst_of(every, task, spec)
    longest = max((c[-1][0] for t in every if (c := t.curves.get(task))), default=0.0)
    heads, bases = (
        tuple(_score(training.curves.get(task), spec, worst, longest) for training in side)
        for side in (head, base)
    )
    mean = statistics.fmean(bases)
    match spec.metric:
        case LearningMetric.SOLVED:
            scale = 1.0
        case LearningMetric.STEPS:
            scale = mean
        case _:
            scale = mean - worst
    learned = scale > NOTHING * max(1.0, abs(worst))
    higher = spec.metric is not LearningMetric.STEPS
    return TaskScores(heads, bases, scale if learned else 0.0, higher)


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
    """What the seeds of one side came to after so many steps."""

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
