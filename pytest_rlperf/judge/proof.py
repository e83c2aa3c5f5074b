"""From verdicts on known changes to rates: how often the gate is wrong, and how often it sees."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import StrEnum
from statistics import fmean, stdev
from typing import TypeVar

from pytest_rlperf.judge.rates import rate_of
from pytest_rlperf.model.proof import Figures, Trial
from pytest_rlperf.model.verdict import Outcome

Key = TypeVar("Key", bound=Hashable)

CLEAR_TIMES = 2
"""A change of twice the threshold lies as far above it as no change lies below."""


class Expectation(StrEnum):
    """How often a change should be called slower."""

    NEVER = "never"  # unchanged code
    HARDLY = "hardly"  # less than the threshold
    AT_LIMIT = "at_limit"  # exactly the threshold, which is allowed: hardly ever
    OFTEN = "often"  # above it
    ALWAYS = "always"  # far above it


def expectation(injected: float, threshold: float) -> Expectation:
    if injected == 0:
        return Expectation.NEVER
    if math.isclose(injected, threshold):
        return Expectation.AT_LIMIT
    if injected < threshold:
        return Expectation.HARDLY
    clear = CLEAR_TIMES * threshold
    far = injected > clear or math.isclose(injected, clear)
    return Expectation.ALWAYS if far else Expectation.OFTEN


def by_case(trials: Iterable[Trial]) -> tuple[Figures, ...]:
    """By change and threshold, the smallest change first."""
    groups = _grouped(trials, lambda trial: (trial.injected, trial.threshold))
    return tuple(_figures(groups[key]) for key in sorted(groups))


def by_test(trials: Iterable[Trial]) -> dict[str, tuple[Figures, ...]]:
    groups = _grouped(trials, lambda trial: trial.nodeid)
    return {nodeid: by_case(groups[nodeid]) for nodeid in sorted(groups)}


def false_alarms(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    return tuple(t for t in trials if not t.injected and t.outcome is Outcome.REGRESSED)


def missed(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """What should be called every time and was not."""
    return tuple(
        t
        for t in trials
        if expectation(t.injected, t.threshold) is Expectation.ALWAYS
        and t.outcome is not Outcome.REGRESSED
    )


def _grouped(trials: Iterable[Trial], key: Callable[[Trial], Key]) -> dict[Key, list[Trial]]:
    groups: dict[Key, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(key(trial), []).append(trial)
    return groups


def _figures(trials: Sequence[Trial]) -> Figures:
    first, n = trials[0], len(trials)
    outcomes = [trial.outcome for trial in trials]
    changes = [trial.interval.change for trial in trials]
    return Figures(
        injected=first.injected,
        threshold=first.threshold,
        slower=rate_of(outcomes.count(Outcome.REGRESSED), n),
        faster=outcomes.count(Outcome.IMPROVED),
        inconclusive=outcomes.count(Outcome.INCONCLUSIVE),
        covered=rate_of(sum(map(_covers, trials)), n),
        mean_change=fmean(changes),
        sd_change=stdev(changes) if n > 1 else None,
        mean_seconds=fmean(trial.seconds for trial in trials),
    )


def _covers(trial: Trial) -> bool:
    return trial.interval.low <= trial.injected <= trial.interval.high
