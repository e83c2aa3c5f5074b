"""From verdicts on known changes to rates: how often the gate is wrong, and how often it sees.

The verdicts of `--rlperf-prove` are kept in the cache folder, a file for each project, a line each.
"""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from statistics import fmean, stdev
from typing import TypeVar

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import append_lines, private_folder, read_lines
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Figures, Rate, Trial
from pytest_rlperf.reading import Damage, check_schema, parse_json, refuse, typed
from pytest_rlperf.trees.cache import digest

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
    """Return how often a change of known size should be called, given what is allowed."""
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
    """Return the figures of each change and threshold, the smallest change first."""
    groups = _grouped(trials, lambda trial: (trial.injected, trial.threshold))
    return tuple(_figures(groups[key]) for key in sorted(groups))


def by_test(trials: Iterable[Trial]) -> dict[str, tuple[Figures, ...]]:
    """Return the figures of each test, by its node id."""
    groups = _grouped(trials, lambda trial: trial.nodeid)
    return {nodeid: by_case(groups[nodeid]) for nodeid in sorted(groups)}


def false_alarms(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return the verdicts on unchanged code that were regressions."""
    return tuple(t for t in trials if not t.injected and t.outcome is Outcome.REGRESSED)


def missed(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return the verdicts on changes far above the threshold that were no regressions."""
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
    """Return whether the interval holds the true change."""
    return trial.interval.low <= trial.injected <= trial.interval.high


# -- exact bounds for a share, from the standard library alone -----------------------------------

LEVEL = 0.95
BISECTIONS = 60


def rate_of(hits: int, n: int) -> Rate:
    """Return the rate of `hits` in `n` with its 95 % bounds."""
    return Rate(hits, n, *clopper_pearson(hits, n))


def clopper_pearson(hits: int, n: int) -> tuple[float, float]:
    """Return two-sided bounds for a binomial share (Clopper and Pearson, Biometrika 26, 1934)."""
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"{hits} of {n} is no share")
    tail = (1 - LEVEL) / 2
    low = 0.0 if hits == 0 else _root(lambda p: at_most(hits - 1, n, p) - (1 - tail))
    high = 1.0 if hits == n else _root(lambda p: at_most(hits, n, p) - tail)
    return low, high


def at_most(hits: int, n: int, share: float) -> float:
    """Return the probability of at most `hits` in `n`, for 0 < share < 1."""
    return sum(math.exp(_log_mass(k, n, share)) for k in range(hits + 1))


def _log_mass(hits: int, n: int, share: float) -> float:
    log_ways = math.lgamma(n + 1) - math.lgamma(hits + 1) - math.lgamma(n - hits + 1)
    return log_ways + hits * math.log(share) + (n - hits) * math.log(1 - share)


def _root(falling: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        # Rounding may bring the bracket to its end, where the logarithms stop.
        if not 0.0 < middle < 1.0:
            break
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


# -- the file -----------------------------------------------------------------------------------

SCHEMA = 1
"""The version of a line. 1: first version."""
ANEW = "delete it to begin anew"


def proof_file(cache: Path, root: Path) -> Path:
    """Return the file of the project with this root."""
    return cache / "proofs" / f"{digest(str(root))}.jsonl"


def append(path: Path, trials: Iterable[Trial]) -> None:
    try:
        private_folder(path.parent)
        rows = ({"schema": SCHEMA, **asdict(trial)} for trial in trials)
        append_lines(path, (json.dumps(row, allow_nan=False) for row in rows))
    except OSError as error:
        raise UsageError(
            f"the verdicts cannot be written to {path} ({error.strerror}); set RLPERF_CACHE to a "
            "folder that you may write to."
        ) from error


def read(path: Path) -> list[Trial]:
    try:
        lines = read_lines(path)
    except OSError as error:
        refuse(path, f"cannot be read ({error.strerror})", ANEW)
    return [_trial(path, number, line) for number, line in enumerate(lines, start=1)]


def _trial(path: Path, number: int, line: str) -> Trial:
    try:
        data = parse_json(line)
        if not isinstance(data, dict):
            raise Damage
        check_schema(path, data, SCHEMA, ANEW)
        return typed(Trial, data)
    except Damage as damage:
        refuse(path, f"is damaged at line {number}.{damage.where}", ANEW)
    except ValueError as error:
        refuse(path, f"is damaged in line {number} ({error})", ANEW)
