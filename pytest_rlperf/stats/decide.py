"""The sequential decision: look, suspect, confirm with fresh blocks, or pass.

Looks at 3, 4, 5, 6, 8, 12, 16, 24, 32 and 48 blocks (64 where the threshold is small): a quiet test
is done early, a noisy one gets what it needs. In 1,500 simulated runs of unchanged code with a
block spread of 0.8 % a test took 3.1 blocks, where looks that began at five took 5.0; at 3 % it was
6.4 and 7.3; and 10 % at a threshold of 5 % took 8.1 instead of 10.0, always called. A change is
*suspected* when the one-sided 99 % lower bound of its interval lies above the threshold, and called
only when half as many blocks more (ten at least), which had no part in raising the suspicion, say
so too, and the interval of all blocks, which is what is shown, agrees; a change that is plain to
see is called after five, with a quarter of the confirmation level spent on that look. A test passes
when the 99 % upper bound lies below the threshold, and the sums do not contradict.

Two errors are bounded, each on its own. *Unchanged code* may be called in 1 % of builds, however
many tests they have: that there is no change must be ruled out at a level divided by the tests
(Bonferroni; Dunn, J. Am. Stat. Assoc. 56, 1961). *A change of exactly the threshold* may be called
in 0.5 % of its tests: that it is no larger must be ruled out at a level that does not depend on
their number, so that a larger suite sees a change beyond the threshold no later than a small one.

Both levels are kept in the same way. A suspicion is raised in 1 % of looks at a change of exactly
the threshold (up to 1.8 % in resamplings of measured, heavy-tailed blocks), oftener than at none,
and fresh blocks, being independent, confirm it with the confirmation level: the chance is at most
looks x 1.8 % x level. What is still open when the time is over gets one last look at all its
blocks, at a level so strict that it needs no confirmation: a large regression is called in a short
run too. Half of what may go wrong is spent on each of these ways. Fresh data in a second stage:
Stein, Ann. Math. Stat. 16, 1945.

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

from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.metric import Interval, Outcome
from pytest_rlperf.stats.estimate import Estimate, estimate, freedom, t_quantile

LOOKS = (3, 4, 5, 6, 8, 12, 16, 24, 32, 48)
LATE_LOOK = 64
SMALL_THRESHOLD = 0.05
FIRST_FRESH = 5
LEAST_FRESH = 10

SUSPECT_LEVEL = 0.01
SUSPECT_RATE = 0.018
"""What that level came to for blocks with heavy tails (see `estimate`)."""
CONFIRM_LEVEL = 0.05
FIRST_SHARE = 0.25
"""The share of the confirmation level that the look at the first few fresh blocks may spend."""
BUILD_LEVEL = 0.01
"""The chance that any test of a build is called although its code is unchanged."""
TEST_LEVEL = 0.005
"""The chance that one test is called whose change is exactly the threshold."""
CONTRADICT_LEVEL = 0.05
DISAGREE_CONFIDENCE = 0.99
HOPE = 0.1
HOPE_FROM = 8
"""From this look on, more blocks are played only where the chance that they tell is at least so
large, on either side."""
MATTERS = 0.25
"""A disagreement of the sums smaller than this share of the threshold changes no verdict."""
NOTICED = 0.1
"""A share of the threshold: where memory happens to lie moves a test by so little, and it is called
unchanged though the interval may exclude zero."""
REPORTED_CONFIDENCE = 0.95
REPORTED_TAIL = (1 - REPORTED_CONFIDENCE) / 2
MOST_BLUR = NormalDist().inv_cdf(1 - REPORTED_TAIL)
"""Standard errors of blur that a verdict has to be clear of."""
SHOWN_TAIL = 0.0175
"""What the shown interval leaves out at each end, so that it is one of 95 %. A gate that stops as
soon as it is sure stops where the blocks happen to agree: in 3,000 simulated runs of each of 18
spreads and changes, bounds of 2.5 % held the truth in 92.4 to 95.6 %, and these in 94.3 to 97.2 %.
"""
DETECT_POWER = 0.9
FRESH_SHARE = 1 / 3
"""The share of fresh blocks among all, when a suspicion has been confirmed."""


class BlockChange(Protocol):
    """How far head lies above its partner in one block, on the scale of the gate: by the typical
    pair, and by the sums."""

    @property
    def typical(self) -> float: ...

    @property
    def total(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Doubt:
    """The chance of error that a called regression may have, for each of the two errors."""

    at_limit: float  # that the change is the threshold
    unchanged: float  # that there is none

    def share(self, part: float) -> "Doubt":
        return Doubt(part * self.at_limit, part * self.unchanged)


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
        """The limit below which a change is an improvement by more than the threshold."""
        return math.log1p(-min(self.threshold, 0.99))

    @property
    def tells_small_changes(self) -> bool:
        """Whether a pass that is slower or faster beyond doubt is called so."""
        return True

    def change(self, difference: float) -> float:
        """Convert a difference on the scale of the blocks to the change that is reported."""
        return math.expm1(difference)

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
    def last(self) -> Doubt:
        """The doubt allowed at the one look at all blocks when there will be no fresh ones."""
        return Doubt(TEST_LEVEL / 2, BUILD_LEVEL / 2 / max(1, self.tests))

    @property
    def confirm(self) -> Doubt:
        """The doubt allowed to fresh blocks, which are asked only where there is a suspicion."""
        suspicion = SUSPECT_RATE * len(self.looks)
        return Doubt(
            min(CONFIRM_LEVEL, self.last.at_limit / suspicion),
            min(CONFIRM_LEVEL, self.last.unchanged / suspicion),
        )

    def bound(self, estimated: Estimate, confidence: float) -> float:
        """Return the one-sided bound that verdicts are made by."""
        errors = abs(NormalDist().inv_cdf(confidence))
        return estimated.bound(confidence, min(errors, MOST_BLUR))

    def exceeded(self, estimated: Estimate, doubt: Doubt) -> bool:
        """Return whether the change lies above the threshold, and unchanged code would not do this.
        That its blur does not, must be as sure as at a single look: it is the same in every one.
        """
        blur_errors = NormalDist().inv_cdf(1 - self.last.unchanged)
        changed = estimated.bound(doubt.unchanged, blur_errors) > 0
        return changed and self.bound(estimated, doubt.at_limit) > self.limit


@dataclass(frozen=True, slots=True)
class DifferenceGate(Gate):
    """A gate whose blocks are differences in the unit of the metric, and so is `threshold`."""

    @property
    def limit(self) -> float:
        return self.threshold

    @property
    def improved_limit(self) -> float:
        return -self.threshold

    @property
    def tells_small_changes(self) -> bool:
        return False  # no amount is slower or faster

    def change(self, difference: float) -> float:
        return difference


@dataclass(frozen=True, slots=True)
class Decision:
    """The state of a test after `blocks` blocks: its outcome, if any, with the evidence."""

    outcome: Outcome | None  # None: more blocks are needed
    blocks: int
    interval: Interval | None = None
    detectable: float | None = None
    by_sums: bool = False
    out_of_time: bool = False  # closed because there will be no more blocks
    next_look: int = 0  # the number of blocks that would tell more; 0: none would
    blur: float = 0.0  # of what it is compared with, where that alone keeps it from being told


def decide(blocks: Sequence[BlockChange], gate: Gate, exhausted: bool = False) -> Decision:
    """Decide on the blocks so far: a pure function of their order, to be replayed and tested."""
    used = 0
    for look in gate.looks:
        if look <= used:
            continue
        if look > len(blocks):
            return _last_word(blocks, gate, exhausted, next_look=look)
        looked_at = blocks[:look]
        sums = by_sums(looked_at, gate)
        if _passes(looked_at, sums, gate):
            return _close(looked_at, sums, gate, _kind_of_pass(looked_at, sums, gate))
        if gate.bound(_estimate(looked_at, sums, gate), SUSPECT_LEVEL) > gate.limit:
            early, used = look + gate.first_fresh, look + max(gate.least_fresh, look // 2)
            if _confirms_early(blocks[:early], look, sums, gate):
                return _close(blocks[:early], sums, gate, Outcome.REGRESSED)
            if used > len(blocks):
                following = early if len(blocks) < early else used
                return _last_word(blocks, gate, exhausted, following, suspected_at=look)
            if _confirms(blocks[:used], look, sums, gate):
                return _close(blocks[:used], sums, gate, Outcome.REGRESSED)
        elif look >= HOPE_FROM and _is_hopeless(looked_at, sums, gate):
            return _close(looked_at, sums, gate, Outcome.INCONCLUSIVE)
    blocks = blocks[: max(used, gate.looks[-1])]
    sums = by_sums(blocks, gate)
    return _close(blocks, sums, gate, _kind_of_end(blocks, sums, gate))


def by_sums(blocks: Sequence[BlockChange], gate: Gate) -> bool:
    """Return whether the sums disagree with the typical pair, beyond noise and by an amount that
    matters. They do when only some of the calls became slower: then the sums are right.
    """
    gap = estimate([b.total - b.typical for b in blocks])
    return abs(gap.mean) > MATTERS * gate.limit and gap.excludes_zero(DISAGREE_CONFIDENCE)


def _estimate(blocks: Sequence[BlockChange], sums: bool, gate: Gate) -> Estimate:
    estimated = estimate([b.total if sums else b.typical for b in blocks])
    return replace(estimated, blur=gate.blur)


def _passes(blocks: Sequence[BlockChange], sums: bool, gate: Gate) -> bool:
    """Return whether the test passes. Few blocks may not yet show a disagreement, so the sums must
    lie below the limit too.
    """
    if gate.bound(_estimate(blocks, sums, gate), 1 - SUSPECT_LEVEL) >= gate.limit:
        return False
    return gate.bound(_estimate(blocks, True, gate), 1 - CONTRADICT_LEVEL) < gate.limit


def _kind_of_pass(blocks: Sequence[BlockChange], sums: bool, gate: Gate) -> Outcome:
    """Name a pass by the interval that is shown with it."""
    estimated = _estimate(blocks, sums, gate)
    low, high = (gate.bound(estimated, tail) for tail in (SHOWN_TAIL, 1 - SHOWN_TAIL))
    if high < gate.improved_limit:
        return Outcome.IMPROVED
    if not gate.tells_small_changes or abs(estimated.mean) < NOTICED * gate.limit:
        return Outcome.UNCHANGED
    if high < 0:
        return Outcome.FASTER
    return Outcome.SLOWER if low > 0 else Outcome.UNCHANGED


def _kind_of_end(blocks: Sequence[BlockChange], sums: bool, gate: Gate) -> Outcome:
    far_above = gate.exceeded(_estimate(blocks, sums, gate), gate.last)
    return Outcome.REGRESSED if far_above else Outcome.INCONCLUSIVE


def _is_hopeless(blocks: Sequence[BlockChange], sums: bool, gate: Gate) -> bool:
    """Return whether all the blocks that may still come would hardly tell the change from the
    threshold: it lies there, or what it is compared with is known too badly.
    """
    share = min(1.0, len(blocks) / gate.looks[-1])
    now = _estimate(blocks, sums, gate)
    most = max(len(blocks), gate.looks[-1])
    then = replace(now, error=now.error * math.sqrt(share), freedom=freedom(most))
    move = NormalDist().inv_cdf(1 - HOPE) * now.error * math.sqrt(1 - share)
    above, below = (replace(then, mean=now.mean + step) for step in (move, -move))
    called = gate.bound(above, SUSPECT_LEVEL) > gate.limit
    return not called and gate.bound(below, 1 - SUSPECT_LEVEL) >= gate.limit


def _confirms_early(blocks: Sequence[BlockChange], look: int, sums: bool, gate: Gate) -> bool:
    if len(blocks) < look + gate.first_fresh:
        return False
    return _agree(blocks, look, sums, gate, gate.confirm.share(FIRST_SHARE))


def _confirms(blocks: Sequence[BlockChange], look: int, sums: bool, gate: Gate) -> bool:
    if len(blocks) < look + LEAST_BLOCKS:
        return False
    return _agree(blocks, look, sums, gate, gate.confirm.share(1 - FIRST_SHARE))


def _agree(blocks: Sequence[BlockChange], look: int, sums: bool, gate: Gate, doubt: Doubt) -> bool:
    """Return whether the fresh blocks leave no more doubt than this, and the interval of all
    blocks, which is what is shown, agrees."""
    fresh, every = (_estimate(part, sums, gate) for part in (blocks[look:], blocks))
    return gate.exceeded(fresh, doubt) and gate.bound(every, SHOWN_TAIL) > gate.limit


def _last_word(
    blocks: Sequence[BlockChange],
    gate: Gate,
    exhausted: bool,
    next_look: int,
    suspected_at: int | None = None,
) -> Decision:
    """Ask for more blocks; when there will be none, decide on what there is."""
    if len(blocks) < LEAST_BLOCKS:
        outcome = Outcome.INCONCLUSIVE if exhausted else None
        return Decision(outcome, len(blocks), out_of_time=exhausted, next_look=next_look)
    sums = by_sums(blocks if suspected_at is None else blocks[:suspected_at], gate)
    outcome = None
    if exhausted:
        outcome = _kind_of_end(blocks, sums, gate)
        if suspected_at is not None and _confirms(blocks, suspected_at, sums, gate):
            outcome = Outcome.REGRESSED
        elif suspected_at is None and _passes(blocks, sums, gate):
            outcome = _kind_of_pass(blocks, sums, gate)
    closed = _close(blocks, sums, gate, outcome, most=len(blocks) if exhausted else 0)
    return replace(closed, out_of_time=exhausted, next_look=next_look)


def _close(
    blocks: Sequence[BlockChange], sums: bool, gate: Gate, outcome: Outcome | None, most: int = 0
) -> Decision:
    """Return the decision with its evidence, by the statistic that it was made on. A test may have
    `most` blocks; 0: as many as the gate asks for.
    """
    estimated = _estimate(blocks, sums, gate)
    tails = (gate.bound(estimated, SHOWN_TAIL), gate.bound(estimated, 1 - SHOWN_TAIL))
    interval = Interval(*(gate.change(bound) for bound in (estimated.mean, *tails)))
    detectable = _detectable(_foreseen(estimated, len(blocks), most, gate), gate)
    undecided = outcome is Outcome.INCONCLUSIVE and gate.blur > 0
    blur = gate.blur if undecided and _is_blurred(blocks, sums, gate) else 0.0
    return Decision(outcome, len(blocks), interval, detectable, sums, blur=blur)


def _is_blurred(blocks: Sequence[BlockChange], sums: bool, gate: Gate) -> bool:
    """Return whether there is no hope, and would be if it were known what is compared with."""
    sharp = replace(gate, blur=0.0)
    return _is_hopeless(blocks, sums, gate) and not _is_hopeless(blocks, sums, sharp)


def _foreseen(estimated: Estimate, blocks: int, most: int, gate: Gate) -> Estimate:
    """Return the estimate that `most` blocks would have come to. A test that passes early would
    have got more blocks if it had been slower. What few blocks say of their spread is too little
    more often than too much; here it is the median (Wilson & Hilferty, PNAS 17, 1931).
    """
    most = most or max(blocks, round(gate.looks[-1] / (1 - FRESH_SHARE)))
    spread = (1 - 2 / (9 * max(1, blocks - 1))) ** 1.5
    error = estimated.error * math.sqrt(blocks / most) / spread
    return replace(estimated, error=error, freedom=freedom(most))


def _detectable(estimated: Estimate, gate: Gate) -> float:
    """Return the change that both stages would have seen in nine of ten runs, the fresh one with a
    third of the blocks. In simulated runs of tests that had passed, at spreads of 0.5 to 6 %, the
    median of these changes was called in 90 to 97 %.
    """
    freedom = estimated.freedom

    def least(above: float, level: float, share: float, blur_errors: float) -> float:
        errors = t_quantile(1 - level, freedom) + t_quantile(DETECT_POWER, freedom)
        blur = (blur_errors + NormalDist().inv_cdf(DETECT_POWER)) * gate.blur
        return above + math.hypot(errors * estimated.error / math.sqrt(share), blur)

    unchanged_errors = NormalDist().inv_cdf(1 - gate.last.unchanged)
    stages = (
        least(gate.limit, SUSPECT_LEVEL, 1, MOST_BLUR),
        least(gate.limit, gate.confirm.at_limit, FRESH_SHARE, MOST_BLUR),
        least(0.0, gate.confirm.unchanged, FRESH_SHARE, unchanged_errors),
    )
    return gate.change(max(stages))


def reported(estimated: Estimate) -> Interval:
    """Return an estimate on the log scale as the interval that people are shown."""
    bounds = (estimated.mean, estimated.bound(REPORTED_TAIL), estimated.bound(1 - REPORTED_TAIL))
    return Interval(*map(math.expm1, bounds))
