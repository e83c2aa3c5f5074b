"""The sequential decision: look, suspect, confirm with fresh blocks, or pass.

Looks at 5, 8, 12, 16, 24, 32 and 48 blocks (64 where the threshold is small). A change is
*suspected* when the one-sided 99 % lower bound of its interval lies above the threshold, and called
only when half as many blocks more (ten at least), which had no part in raising the suspicion, say
so too, and the interval of all blocks, which is what is shown, agrees; a change that is plain to
see is called after five, with a quarter of the confirmation level spent on that look. A test passes
when the 99 % upper bound lies below the threshold, and the sums do not contradict.

False alarms: a change of exactly the threshold raises a suspicion in 1 % of looks (up to 1.8 % in
resamplings of measured, heavy-tailed blocks), and fresh blocks, being independent, confirm it with
the confirmation level. So the chance per test is at most looks x 1.8 % x level. What is still open
when the time is over gets one last look at all its blocks, at a level so strict that it needs no
confirmation: a large regression is called in a short run too. Half of the build's 1 % goes to each
way, divided by its tests (Bonferroni; Dunn, J. Am. Stat. Assoc. 56, 1961). Fresh data in a second
stage: Stein, Ann. Math. Stat. 16, 1945.

A stored baseline is blurred: it was saved in another hour. Blur is the same in every look and in
the fresh blocks, so repeating the question does not make it stricter, and it is not asked for more
than the reported interval holds, 95 %. Against a baseline that is off by as much as that, a change
of exactly the threshold is called in 2.5 %; unchanged code stays within the build's 1 %.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Protocol

from pytest_rlperf.judge.estimate import Estimate, estimate
from pytest_rlperf.judge.student import t_quantile
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.verdict import Interval, Outcome

LOOKS = (5, 8, 12, 16, 24, 32, 48)
LATE_LOOK = 64
SMALL_THRESHOLD = 0.05
FIRST_FRESH = 5
LEAST_FRESH = 10

SUSPECT_LEVEL = 0.01
SUSPECT_RATE = 0.018
"""What that level came to for blocks with heavy tails (see `estimate`)."""
CONFIRM_LEVEL = 0.05
FIRST_SHARE = 0.25
"""Of the confirmation level, for the look at the first few fresh blocks."""
BUILD_LEVEL = 0.01
CONTRADICT_LEVEL = 0.05
DISAGREE_CONFIDENCE = 0.99
MATTERS = 0.25
"""Of the threshold: a smaller disagreement of the sums changes no verdict."""
REPORTED_CONFIDENCE = 0.95
REPORTED_TAIL = (1 - REPORTED_CONFIDENCE) / 2
DETECT_POWER = 0.9


class Apart(Protocol):
    """How far head lies above its partner in one block, on the scale of the gate: by the typical
    pair, and by the sums."""

    @property
    def typical(self) -> float: ...

    @property
    def total(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Gate:
    """The rule for one metric of one test in one build; blocks are log-ratios of times."""

    threshold: float
    tests: int = 1  # judged in this build
    blur: float = 0.0  # standard error of what is compared with, which no block takes away

    @property
    def limit(self) -> float:
        """The threshold on the log scale."""
        return math.log1p(self.threshold)

    @property
    def improved_limit(self) -> float:
        """What lies below it became better by more than the threshold."""
        return math.log1p(-min(self.threshold, 0.99))

    def change(self, apart: float) -> float:
        """From the scale of the blocks to what is reported."""
        return math.expm1(apart)

    @property
    def first_fresh(self) -> int:
        return FIRST_FRESH

    @property
    def least_fresh(self) -> int:
        return LEAST_FRESH

    @property
    def looks(self) -> tuple[int, ...]:
        return (*LOOKS, LATE_LOOK) if self.threshold < SMALL_THRESHOLD else LOOKS

    @property
    def confirm_level(self) -> float:
        """Small enough that all tests of the build together stay below `BUILD_LEVEL`."""
        suspicion = SUSPECT_RATE * len(self.looks)
        return min(CONFIRM_LEVEL, BUILD_LEVEL / 2 / (suspicion * max(1, self.tests)))

    @property
    def last_level(self) -> float:
        """For the one look at all blocks when there will be no more, without fresh ones."""
        return BUILD_LEVEL / 2 / max(1, self.tests)

    @property
    def blur_errors(self) -> float:
        """How many standard errors of blur a verdict has to be clear of, at most. Where the
        threshold is small beside the blur, unchanged code asks for more than the interval does.
        """
        if not self.blur:
            return 0.0
        for_unchanged = NormalDist().inv_cdf(1 - self.last_level) - self.limit / self.blur
        return max(NormalDist().inv_cdf(1 - REPORTED_TAIL), for_unchanged)

    def bound(self, found: Estimate, confidence: float) -> float:
        """One-sided, as verdicts are made by."""
        return found.bound(confidence, self.blur_errors)


@dataclass(frozen=True, slots=True)
class DifferenceGate(Gate):
    """Blocks are differences in the unit of the metric, and so is `threshold`."""

    @property
    def limit(self) -> float:
        return self.threshold

    @property
    def improved_limit(self) -> float:
        return -self.threshold

    def change(self, apart: float) -> float:
        return apart


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a test stands after `blocks` blocks."""

    outcome: Outcome | None  # None: more blocks are needed
    blocks: int
    interval: Interval | None = None
    detectable: float | None = None
    by_sums: bool = False
    out_of_time: bool = False  # closed because there will be no more blocks


def decide(blocks: Sequence[Apart], gate: Gate, exhausted: bool = False) -> Decision:
    """A pure function of the blocks in their order, so it can be replayed and tested."""
    used = 0
    for look in gate.looks:
        if look <= used:
            continue
        if look > len(blocks):
            return _last_word(blocks, gate, exhausted)
        seen = blocks[:look]
        sums = by_sums(seen, gate)
        if _passes(seen, sums, gate):
            return _close(seen, sums, gate, _kind_of_pass(seen, sums, gate))
        if gate.bound(_estimate(seen, sums, gate), SUSPECT_LEVEL) > gate.limit:
            early, used = look + gate.first_fresh, look + max(gate.least_fresh, look // 2)
            if _confirms_early(blocks[:early], look, sums, gate):
                return _close(blocks[:early], sums, gate, Outcome.REGRESSED)
            if used > len(blocks):
                return _last_word(blocks, gate, exhausted, suspected_at=look)
            if _confirms(blocks[:used], look, sums, gate):
                return _close(blocks[:used], sums, gate, Outcome.REGRESSED)
    blocks = blocks[: max(used, gate.looks[-1])]
    sums = by_sums(blocks, gate)
    return _close(blocks, sums, gate, _kind_of_end(blocks, sums, gate))


def by_sums(blocks: Sequence[Apart], gate: Gate) -> bool:
    """Whether the sums tell another story than the typical pair, beyond noise and by an amount
    that matters. They do when only some of the calls became slower: then the sums are right.
    """
    apart = estimate([b.total - b.typical for b in blocks])
    return abs(apart.mean) > MATTERS * gate.limit and apart.excludes_zero(DISAGREE_CONFIDENCE)


def _estimate(blocks: Sequence[Apart], sums: bool, gate: Gate) -> Estimate:
    found = estimate([b.total if sums else b.typical for b in blocks])
    return replace(found, blur=gate.blur)


def _passes(blocks: Sequence[Apart], sums: bool, gate: Gate) -> bool:
    """Few blocks may not yet show a disagreement, so the sums must lie below the limit too."""
    if gate.bound(_estimate(blocks, sums, gate), 1 - SUSPECT_LEVEL) >= gate.limit:
        return False
    return gate.bound(_estimate(blocks, True, gate), 1 - CONTRADICT_LEVEL) < gate.limit


def _kind_of_pass(blocks: Sequence[Apart], sums: bool, gate: Gate) -> Outcome:
    bound = gate.bound(_estimate(blocks, sums, gate), 1 - SUSPECT_LEVEL)
    return Outcome.IMPROVED if bound < gate.improved_limit else Outcome.UNCHANGED


def _kind_of_end(blocks: Sequence[Apart], sums: bool, gate: Gate) -> Outcome:
    far_above = gate.bound(_estimate(blocks, sums, gate), gate.last_level) > gate.limit
    return Outcome.REGRESSED if far_above else Outcome.INCONCLUSIVE


def _confirms_early(blocks: Sequence[Apart], look: int, sums: bool, gate: Gate) -> bool:
    if len(blocks) < look + gate.first_fresh:
        return False
    return _agree(blocks, look, sums, gate, FIRST_SHARE * gate.confirm_level)


def _confirms(blocks: Sequence[Apart], look: int, sums: bool, gate: Gate) -> bool:
    if len(blocks) < look + LEAST_BLOCKS:
        return False
    return _agree(blocks, look, sums, gate, (1 - FIRST_SHARE) * gate.confirm_level)


def _agree(blocks: Sequence[Apart], look: int, sums: bool, gate: Gate, level: float) -> bool:
    """The fresh blocks say it at this level, and the interval of all, which is what is shown."""
    fresh, all_of_them = (_estimate(seen, sums, gate) for seen in (blocks[look:], blocks))
    return min(gate.bound(fresh, level), gate.bound(all_of_them, REPORTED_TAIL)) > gate.limit


def _last_word(
    blocks: Sequence[Apart], gate: Gate, exhausted: bool, suspected_at: int | None = None
) -> Decision:
    """More blocks are wanted; when there will be none, what there is must do."""
    if len(blocks) < LEAST_BLOCKS:
        outcome = Outcome.INCONCLUSIVE if exhausted else None
        return Decision(outcome, len(blocks), out_of_time=exhausted)
    sums = by_sums(blocks if suspected_at is None else blocks[:suspected_at], gate)
    outcome = None
    if exhausted:
        outcome = _kind_of_end(blocks, sums, gate)
        if suspected_at is not None and _confirms(blocks, suspected_at, sums, gate):
            outcome = Outcome.REGRESSED
        elif suspected_at is None and _passes(blocks, sums, gate):
            outcome = _kind_of_pass(blocks, sums, gate)
    return replace(_close(blocks, sums, gate, outcome), out_of_time=exhausted)


def _close(blocks: Sequence[Apart], sums: bool, gate: Gate, outcome: Outcome | None) -> Decision:
    """The decision with its evidence, by the statistic that it was made on."""
    found = _estimate(blocks, sums, gate)
    bounds = (found.mean, found.bound(REPORTED_TAIL), found.bound(1 - REPORTED_TAIL))
    interval = Interval(*(gate.change(bound) for bound in bounds))
    return Decision(outcome, len(blocks), interval, _detectable(found, gate), sums)


def _detectable(found: Estimate, gate: Gate) -> float:
    """The change that both stages would have seen in nine of ten runs, the fresh one with a third
    of the blocks."""
    power = t_quantile(DETECT_POWER, found.freedom)
    suspect = t_quantile(1 - SUSPECT_LEVEL, found.freedom) + power
    confirm = (t_quantile(1 - gate.confirm_level, found.freedom) + power) * math.sqrt(3)
    of_blur = gate.blur_errors + NormalDist().inv_cdf(DETECT_POWER)
    return gate.change(
        gate.limit + math.hypot(max(suspect, confirm) * found.error, of_blur * gate.blur)
    )
