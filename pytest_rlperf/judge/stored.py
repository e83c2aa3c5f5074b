"""From a stored baseline to the level that head's blocks are held against, or why there is none."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_rlperf.judge.estimate import estimate
from pytest_rlperf.judge.reference import CLOCK, KernelRatios, combined, fit_weights
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.measure.kernels import NAMES as KERNELS
from pytest_rlperf.measure.kernels import NEED_NUMPY
from pytest_rlperf.model.baseline import Session, Stored
from pytest_rlperf.model.block import LogRatios
from pytest_rlperf.model.verdict import Outcome

ELSEWHERE = 0.25
"""The least threshold for a baseline of another CPU model or build of Python: kernels and tests
gain differently. Two builds of 3.11 lay apart by up to 21 % in tests of interpreted code."""
SESSION_SPREAD = 0.015
"""Of the ratio between runs of the same code, in hours of different load, at least."""
TRACKING_SHARE = 0.35
"""Of the spread over blocks, most of them disturbed on purpose: so far a run in another hour may be
off. With both, eight saves of five kinds of work lay apart by 0.5 to 1.3 of what they were said to.
"""
ENOUGH_SESSIONS = 3
"""So many show by themselves how much they differ."""

MUST_MATCH = ("architecture", "implementation", "python", "threads", "kernels")
NAMES = {
    "implementation": "Python implementation",
    "python": "Python version",
    "threads": "number of threads",
    "kernels": "edition of the reference kernels",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A test's stored time in one mix of kernels (log scale)."""

    weights: Mapping[str, float]
    at: LogRatios
    blur: float  # standard error that no number of new blocks can take away

    def apart(self, ratios: KernelRatios) -> LogRatios:
        """How far a block lies above it."""
        found = combined(ratios, self.weights)
        return LogRatios(found.typical - self.at.typical, found.total - self.at.total)


@dataclass(frozen=True, slots=True)
class Level:
    """A test's stored time, to be told in whatever unit fits the run that is held against it."""

    weights: Mapping[str, float]  # of the unit that its save chose
    sessions: tuple[Session, ...]
    work: Mapping[str, float]
    floor: float = 0.0  # least threshold
    label: str | None = None
    commit: str | None = None  # None: not exactly known

    def unit(self, now: Sequence[KernelRatios] = ()) -> Unit:
        """In the kernels that follow the test best, then and `now`.

        A save on a quiet machine learns little about kernels, however it is disturbed. What the
        run meets is what they have to follow it through; by how much the run lies off its level has
        no part in the choice.
        """
        weights = self.weights
        if now:
            saved = [block for session in self.sessions for block in session.blocks]
            weights = fit_weights(saved, now, besides=frozenset({CLOCK}) - weights.keys())
        return Unit(weights, _level(self.sessions, weights), _blur(self.sessions, weights))


def level_of(stored: Stored, source_hash: str, facts: Mapping[str, Any]) -> Level | Ended:
    """`facts` are those of this run and test."""
    latest = stored.latest
    if latest is None:
        return Ended(Outcome.NO_BASELINE, "its memory is stored, and no time; save it again")
    if other := differing(latest.facts, facts, MUST_MATCH):
        return Ended(Outcome.INCOMPARABLE, f"recorded under other facts: {'; '.join(other)}")
    if stored.source_hash != source_hash:
        return edited()
    missing = stored.weights.keys() - {CLOCK} - _kernels_of(facts)
    if missing:
        return Ended(
            Outcome.INCOMPARABLE,
            "it is measured in reference kernels that are missing here "
            f"({', '.join(sorted(missing))}); install numpy, or save it again",
        )
    elsewhere = list(_elsewhere(latest.facts, facts))
    return Level(
        weights=stored.weights,
        sessions=stored.sessions,
        work=stored.work,
        floor=ELSEWHERE if elsewhere else 0.0,
        label=", ".join([*elsewhere, *_beside(latest.facts, facts)]) or None,
        commit=None if latest.dirty else latest.commit,
    )


def _kernels_of(facts: Mapping[str, Any]) -> frozenset[str]:
    return KERNELS if facts.get("numpy") else KERNELS - NEED_NUMPY


def edited() -> Ended:
    return Ended(
        Outcome.INCOMPARABLE,
        "the benchmark itself changed since its baseline was saved, so it measures something "
        "else; save it again, or compare with --rlperf-against, which runs it on both sides",
    )


def differing(then: Mapping[str, Any], now: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """A phrase for each of these facts that is not what it was."""
    return [
        f"{NAMES.get(name, name)} was {then.get(name, 'unknown')}, is {now.get(name, 'unknown')}"
        for name in names
        if then.get(name) != now.get(name)
    ]


def _elsewhere(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if then.get("cpu") != now.get("cpu"):
        yield f"saved on another CPU ({then.get('cpu')})"
    if then.get("python_build") != now.get("python_build"):
        yield f"saved with another build of Python ({then.get('python_build', 'unknown')})"


def _beside(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What is said of a comparison, and does not widen what is allowed."""
    for name in ("numpy", "blas"):
        if then.get(name) != now.get(name):
            yield f"{name} {then.get(name) or 'missing'} then, {now.get(name) or 'missing'} now"
    # Baselines from before it was written down were measured at random ones.
    was, is_now = (facts.get("addresses", "random") for facts in (then, now))
    if was != is_now:
        yield f"program addresses {was} then, {is_now} now"


def _level(sessions: Sequence[Session], weights: Mapping[str, float]) -> LogRatios:
    means = [_session_level(session, weights) for session in sessions]
    return LogRatios(
        statistics.fmean(level.typical for level in means),
        statistics.fmean(level.total for level in means),
    )


def _session_level(session: Session, weights: Mapping[str, float]) -> LogRatios:
    blocks = [combined(block, weights) for block in session.blocks]
    return LogRatios(
        estimate([block.typical for block in blocks]).mean,
        estimate([block.total for block in blocks]).mean,
    )


def _blur(sessions: Sequence[Session], weights: Mapping[str, float]) -> float:
    """What sessions differ by enters twice: in the stored ones' mean, and in the run of now."""
    levels = [_session_level(session, weights).typical for session in sessions]
    number = len(levels)
    blocks = [combined(block, weights) for session in sessions for block in session.blocks]
    within = estimate([block.typical for block in blocks]).error
    tracking = TRACKING_SHARE * within * math.sqrt(len(blocks))
    apart = statistics.stdev(levels) if number >= ENOUGH_SESSIONS else tracking
    return math.hypot(max(SESSION_SPREAD, apart) * math.sqrt(1 + 1 / number), within)
