"""The level that a stored baseline holds head against, or why there is none to hold it against.

A time is stored in reference units: its ratio to a kernel, or to the mix of kernels that tracks the
test best. Memory is stored in bytes, and what was learned as the returns of every seed.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pytest_rlperf.baselines.file import Session, Stored
from pytest_rlperf.machine.fingerprint import MACHINE
from pytest_rlperf.model.block import LEAST_BLOCKS, Block, LogRatios, ReferenceTime
from pytest_rlperf.model.learning import Training
from pytest_rlperf.model.metric import MetricKind, Outcome, Rule
from pytest_rlperf.model.result import Facts
from pytest_rlperf.stats.estimate import estimate, paired
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.worker.kernels import EDITION, NEED_NUMPY
from pytest_rlperf.worker.kernels import NAMES as KERNELS

# -- reference units -----------------------------------------------------------------------------

CLOCK = "clock"
"""Not a kernel but the wall clock: what a test that waits is measured in."""

KernelRatios = Mapping[str, LogRatios]
Weights = Mapping[str, float]

HANDICAP = {1: 1.0, 2: 1.2, 3: 1.3}
"""The spread of a mix counts this many times, by its number of kernels. In eight sessions of ten
tests, fitted to 24 blocks, other sessions lay off by 1.9 % (root mean square; at most 5 %); with
weights fitted freely the same, but at most 7 %. With 12 blocks it was 2.6 %, and at most 10 %.
"""

WILD = 0.2
"""A log-ratio: few processes in a thousand are off so far, for all of their life."""


def kernel_ratios(block: Block) -> dict[str, LogRatios]:
    """Return one block's log-ratios to each kernel, and to a nanosecond of the clock."""
    if block.reference is None:
        raise ValueError("this block was measured without the reference kernels")
    head = [own / block.head.calls for own in block.head.own_ns]
    clock = paired(head, [1.0] * len(head))
    kernels = block.reference.call_ns.items()
    return {CLOCK: clock, **{name: paired(head, times) for name, times in kernels}}


def reference_time(blocks: Sequence[Block], weights: Weights) -> ReferenceTime | None:
    """Return the time over every kernel that played, not its own unit alone: that may be chosen
    anew one day. None: no kernel played, or in too few blocks.
    """
    played = [kernel_ratios(block) for block in blocks if block.reference is not None]
    if len(played) < LEAST_BLOCKS:
        return None
    ratios = {
        name: round(estimate([block[name].typical for block in played]).mean, 6)
        for name in played[0]
    }
    return ReferenceTime(EDITION, ratios, dict(weights))


def combined(ratios: KernelRatios, weights: Weights) -> LogRatios:
    """Return the log-ratio to the mix: a weighted geometric mean of kernels is the unit."""
    return LogRatios(
        sum(weight * ratios[name].typical for name, weight in weights.items()),
        sum(weight * ratios[name].total for name, weight in weights.items()),
    )


def fit_weights(
    *runs: Sequence[KernelRatios], besides: frozenset[str] = frozenset()
) -> dict[str, float]:
    """Choose the kernel, or equal parts of two or three, whose ratio varied least over the blocks
    of a run. Of several runs each has a level of its own, which says nothing about kernels.

    The blocks must have seen the machine in several states, or there is nothing to learn from.
    Weights fitted freely learn the noise of two dozen blocks, and there are more mixes than
    kernels to be lucky with: so a mix must be clearly better.
    """
    names = sorted(set.intersection(*(set(block) for run in runs for block in run)) - besides)
    deviations = _deviations(runs, names)
    mixes = (mix for number in HANDICAP for mix in combinations(names, number))
    best = min(mixes, key=lambda mix: HANDICAP[len(mix)] * _spread([deviations[n] for n in mix]))
    return dict.fromkeys(best, 1 / len(best))


def _deviations(
    runs: Sequence[Sequence[KernelRatios]], names: Sequence[str]
) -> dict[str, list[float]]:
    """Return by kernel how far the ratio of every block lies from the mean of its run."""
    deviations: dict[str, list[float]] = {name: [] for name in names}
    for blocks in filter(None, runs):
        telling = _telling(blocks, names)
        for name in names:
            ratios = [block[name].typical for block in telling]
            level = statistics.fmean(ratios)
            deviations[name] += [ratio - level for ratio in ratios]
    return deviations


def _telling(blocks: Sequence[KernelRatios], names: Sequence[str]) -> Sequence[KernelRatios]:
    """Leave out blocks in which the ratios to all kernels are far off in one direction: there the
    test itself had good or bad luck, which says nothing about kernels, and would favour whichever
    happened to be off the other way.
    """
    centres = {name: statistics.median(block[name].typical for block in blocks) for name in names}

    def own_luck(block: KernelRatios) -> float:
        deviations = [block[name].typical - centre for name, centre in centres.items()]
        return max(min(deviations), -max(deviations))

    kept = [block for block in blocks if own_luck(block) < WILD]
    return kept if len(kept) > len(blocks) / 2 else blocks


def _spread(deviations: Sequence[Sequence[float]]) -> float:
    """Return the spread of the ratio to a mix in equal parts. It is not trimmed: blocks in which
    the mix did not follow the test through a disturbance are what it is asked for.
    """
    return math.hypot(*map(math.fsum, zip(*deviations, strict=True))) / len(deviations)


# -- levels of time ------------------------------------------------------------------------------

ELSEWHERE = 0.25
"""The least threshold for a baseline of another machine or build of Python: kernels and tests gain
differently. Two builds of 3.11 lay apart by up to 21 % in tests of interpreted code; two CPUs that
a hypervisor calls alike by -31 to +79 %, so that another machine is judged only by request."""
SESSION_SPREAD = 0.015
"""The least spread of the ratio between runs of the same code, in hours of different load."""
TRACKING_SHARE = 0.35
"""A run in another hour may be off by this share of the spread over blocks, most of them disturbed
on purpose. With both, eight saves of five kinds of work lay apart by 0.5 to 1.3 of what they were
said to.
"""
ENOUGH_SESSIONS = 3
"""This many sessions show by themselves how much they differ."""

MUST_MATCH = ("architecture", "implementation", "python", "threads", "kernels")
NAMES = {
    "implementation": "Python implementation",
    "python": "Python version",
    "threads": "number of threads",
    "kernels": "edition of the reference kernels",
    "simd": "SIMD features",
    "threads_per_core": "threads a core",
}
LISTS = {"caches": ", ", "simd": " "}
"""Facts of several parts, with what stands between two."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A test's stored time in one mix of kernels (log scale)."""

    weights: Weights
    at: LogRatios
    blur: float  # standard error that no number of new blocks can take away

    def apart(self, ratios: KernelRatios) -> LogRatios:
        """Return how far a block lies above the stored time."""
        head = combined(ratios, self.weights)
        return LogRatios(head.typical - self.at.typical, head.total - self.at.total)


@dataclass(frozen=True, slots=True)
class Level:
    """A test's stored time, to be stated in whatever unit fits the run that is held against it."""

    weights: Weights  # of the unit that its save chose
    sessions: tuple[Session, ...]
    work: Mapping[str, float]
    floor: float = 0.0  # least threshold
    foreign: Ended | None = None  # why its change is shown and not judged; None: it is judged
    label: str | None = None
    commit: str | None = None  # None: not exactly known

    def unit(self, now: Sequence[KernelRatios] = ()) -> Unit:
        """State it in the kernels that follow the test best, then and `now`.

        A save on a quiet machine learns little about kernels, however it is disturbed. What the
        run meets is what they have to follow it through; by how much the run lies off its level has
        no part in the choice.
        """
        weights = self.weights
        if now:
            saved = [block for session in self.sessions for block in session.blocks]
            weights = fit_weights(saved, now, besides=frozenset({CLOCK}) - weights.keys())
        return Unit(weights, _level(self.sessions, weights), _blur(self.sessions, weights))


def level_of(
    stored: Stored, source_hash: str, facts: Facts, judge_foreign: bool = False
) -> Level | Ended:
    """Return the level of a stored time under the facts of this run and test; one of another
    machine is judged by request only.
    """
    latest = stored.latest
    if latest is None:
        return Ended(Outcome.NO_BASELINE, "its memory is stored, and no time; save it again")
    if other := differing(latest.facts, facts, MUST_MATCH):
        return Ended(Outcome.INCOMPARABLE, f"recorded under other facts: {'; '.join(other)}")
    if stored.source_hash != source_hash:
        return edited()
    known = KERNELS if facts.get("numpy") else KERNELS - NEED_NUMPY
    if missing := stored.weights.keys() - {CLOCK} - known:
        return Ended(
            Outcome.INCOMPARABLE,
            "it is measured in reference kernels that are missing here "
            f"({', '.join(sorted(missing))}); install numpy, or save it again",
        )
    machine = "; ".join(differing(latest.facts, facts, MACHINE))
    elsewhere = list(_elsewhere(latest.facts, facts, machine))
    return Level(
        weights=stored.weights,
        sessions=stored.sessions,
        work=stored.work,
        floor=ELSEWHERE if elsewhere else 0.0,
        foreign=_foreign(machine) if machine and not judge_foreign else None,
        label=", ".join([*elsewhere, *_beside(latest.facts, facts)]) or None,
        commit=None if latest.dirty else latest.commit,
    )


def edited() -> Ended:
    return Ended(
        Outcome.INCOMPARABLE,
        "the benchmark itself changed since its baseline was saved, so it measures something "
        "else; save it again, or compare with --rlperf-against, which runs it on both sides",
    )


def _foreign(machine: str) -> Ended:
    reason = f"saved on another machine: {machine}; the change is shown, not judged"
    return Ended(Outcome.INCOMPARABLE, reason, shown=True)


def differing(then: Facts, now: Facts, names: Sequence[str]) -> list[str]:
    """Return a phrase for each of these facts that is not what it was, and one for all that an
    older version did not record.
    """
    others = [name for name in names if then.get(name) != now.get(name)]
    missing = [NAMES.get(name, name) for name in others if name not in then]
    phrases = [_difference(name, then[name], now.get(name)) for name in others if name in then]
    return [*phrases, f"{', '.join(missing)} not recorded then"] if missing else phrases


def _difference(name: str, then: str | int | None, now: str | int | None) -> str:
    if name not in LISTS or not then or not now:
        return f"{NAMES.get(name, name)} was {then}, is {now}"
    between = LISTS[name]
    was, is_now = (str(fact).split(between) for fact in (then, now))
    only_then, only_now = (
        between.join(part for part in one if part not in other) or "none"
        for one, other in ((was, is_now), (is_now, was))
    )
    return f"{NAMES.get(name, name)} that differ: {only_then} then, {only_now} now"


def _elsewhere(then: Facts, now: Facts, machine: str) -> Iterator[str]:
    """Yield the differences that widen what is allowed; `machine` names those of machines."""
    if machine:
        yield f"saved on another machine ({machine})"
    if then.get("python_build") != now.get("python_build"):
        yield f"saved with another build of Python ({then.get('python_build', 'unknown')})"


def _beside(then: Facts, now: Facts) -> Iterator[str]:
    """Yield the differences that are stated, and do not widen what is allowed."""
    for name in ("numpy", "blas"):
        if then.get(name) != now.get(name):
            yield f"{name} {then.get(name) or 'missing'} then, {now.get(name) or 'missing'} now"
    # Baselines from before it was written down were measured at random ones.
    was, is_now = (facts.get("addresses", "random") for facts in (then, now))
    if was != is_now:
        yield f"program addresses {was} then, {is_now} now"


def _level(sessions: Sequence[Session], weights: Weights) -> LogRatios:
    means = [_session_level(session, weights) for session in sessions]
    return LogRatios(
        statistics.fmean(level.typical for level in means),
        statistics.fmean(level.total for level in means),
    )


def _session_level(session: Session, weights: Weights) -> LogRatios:
    blocks = [combined(block, weights) for block in session.blocks]
    return LogRatios(
        estimate([block.typical for block in blocks]).mean,
        estimate([block.total for block in blocks]).mean,
    )


def _blur(sessions: Sequence[Session], weights: Weights) -> float:
    """Return the standard error of the stored level. What sessions differ by enters twice: in the
    stored ones' mean, and in the run of now.
    """
    levels = [_session_level(session, weights).typical for session in sessions]
    number = len(levels)
    blocks = [combined(block, weights) for session in sessions for block in session.blocks]
    within = estimate([block.typical for block in blocks]).error
    tracking = TRACKING_SHARE * within * math.sqrt(len(blocks))
    between = statistics.stdev(levels) if number >= ENOUGH_SESSIONS else tracking
    return math.hypot(max(SESSION_SPREAD, between) * math.sqrt(1 + 1 / number), within)


# -- levels of learning --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LearningLevel:
    """A test's stored trainings, to hold head's against seed by seed."""

    trainings: tuple[Training, ...]
    label: str | None  # what is not as it was when they were saved

    @property
    def seeds(self) -> dict[int, Training]:
        return {training.seed: training for training in self.trainings}


def learning_level(
    stored: Stored, source_hash: str, facts: Facts, versions: Mapping[str, str]
) -> LearningLevel | Ended | None:
    """Return the level of stored trainings for a run with these libraries; None: it has none.

    Seeds are draws, so another machine or another version does not keep them from being compared:
    whether learning stood an upgrade is what somebody may ask. It is told beside the verdict.
    """
    learning = stored.learning
    if learning is None:
        return None
    if stored.source_hash != source_hash:
        return edited()
    elsewhere = ["another machine"] if differing(learning.facts, facts, MACHINE) else []
    names = sorted(learning.versions.keys() | versions.keys())
    unlike = [*elsewhere, *differing(learning.versions, versions, names)]
    label = f"trained under other facts: {'; '.join(unlike)}" if unlike else None
    return LearningLevel(learning.trainings, label)


# -- levels of memory ----------------------------------------------------------------------------

EVERYWHERE = ("implementation", "python", "threads")
"""Facts that decide what Python's allocators are asked for."""
HERE = (*MACHINE, "numpy", "blas")
"""Facts that also decide what is resident: libraries take buffers for the cores, caches and
features they find."""
TRACED = frozenset({Rule.TRACED, Rule.GROWTH})


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A test's stored sizes, to hold head's against."""

    values: Mapping[str, tuple[float, ...]]  # by metric, one a process
    repeats: int
    elsewhere: Ended | None = None  # why only what was traced may be compared with

    def ended_for(self, metric: MetricKind) -> Ended | None:
        return None if metric.rule in TRACED else self.elsewhere


def memory_level(stored: Stored, source_hash: str, facts: Facts) -> MemoryLevel | Ended | None:
    """Return the level of stored sizes under the facts of this run and test; None: it has none."""
    memory = stored.memory
    if memory is None:
        return None
    if other := differing(memory.facts, facts, EVERYWHERE):
        return Ended(Outcome.INCOMPARABLE, f"recorded under other facts: {'; '.join(other)}")
    if stored.source_hash != source_hash:
        return edited()
    unlike = "; ".join(differing(memory.facts, facts, HERE))
    reason = f"resident memory is compared on like machines only: {unlike}; what was traced holds"
    elsewhere = Ended(Outcome.INCOMPARABLE, reason) if unlike else None
    return MemoryLevel(memory.values, memory.repeats, elsewhere)
