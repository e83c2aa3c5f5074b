"""The sequential decision: look, suspect, confirm with fresh blocks, or pass.

Looks at 5, 8, 12, 16, 24, 32 and 48 blocks (64 where the threshold is small). A change is
*suspected* when the one-sided 99 % lower bound of its interval lies above the threshold, and called
only when half as many blocks more, which had no part in raising the suspicion, say so too; all
blocks tell the spread. A test passes when the 99 % upper bound lies below the threshold, and the
sums do not contradict.

False alarms: a change of exactly the threshold raises a suspicion with at most 1 % a look, and
fresh blocks confirm it with at most the confirmation level. So the chance per test is at most
looks x 1 % x level; the level is set so that the sum over the tests of a build stays below 1 %
(Bonferroni; Dunn, J. Am. Stat. Assoc. 56, 1961). Fresh data in a second stage: Stein, Ann. Math.
Stat. 16, 1945. The spread of all blocks is not independent of the suspicion, which favours a
small one: simulated, fresh blocks then confirm twice as often as their nominal level says, so the
nominal level is a third of what is wanted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rlperf.judge.estimate import LEAST_BLOCKS, Estimate, LogRatios, estimate
from pytest_rlperf.judge.student import t_quantile
from pytest_rlperf.model.verdict import Interval, Outcome

LOOKS = (5, 8, 12, 16, 24, 32, 48)
LATE_LOOK = 64
SMALL_THRESHOLD = 0.05
LEAST_FRESH = 6

SUSPECT_LEVEL = 0.01
CONFIRM_LEVEL = 0.05
BUILD_LEVEL = 0.01
CONTRADICT_LEVEL = 0.05
DISAGREE_CONFIDENCE = 0.99
REPORTED_CONFIDENCE = 0.95
DETECT_POWER = 0.9
SHARED_SPREAD = 3
"""How much stricter the nominal confirmation level is, for the spread that both stages share."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The rule for one metric of one test in one build."""

    threshold: float
    tests: int = 1  # judged in this build

    @property
    def limit(self) -> float:
        """The threshold on the log scale."""
        return math.log1p(self.threshold)

    @property
    def looks(self) -> tuple[int, ...]:
        return (*LOOKS, LATE_LOOK) if self.threshold < SMALL_THRESHOLD else LOOKS

    @property
    def confirm_level(self) -> float:
        """Small enough that all tests of the build together stay below `BUILD_LEVEL`."""
        suspicion = SUSPECT_LEVEL * len(self.looks)
        wanted = min(CONFIRM_LEVEL, BUILD_LEVEL / (suspicion * max(1, self.tests)))
        return wanted / SHARED_SPREAD


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a test stands. `outcome` None: more blocks are needed, up to `needed`."""

    outcome: Outcome | None
    needed: int
    interval: Interval | None = None
    detectable: float | None = None
    by_sums: bool = False


def decide(blocks: Sequence[LogRatios], gate: Gate, exhausted: bool = False) -> Decision:
    """A pure function of the blocks in their order, so it can be replayed and tested."""
    used = 0
    for look in gate.looks:
        if look <= used:
            continue
        if look > len(blocks):
            return _last_word(blocks, gate, look, exhausted)
        seen = blocks[:look]
        if _passes(seen, gate):
            return _close(seen, gate, _kind_of_pass(seen, gate))
        if _estimate(seen, by_sums(seen)).bound(SUSPECT_LEVEL) > gate.limit:
            used = look + max(LEAST_FRESH, look // 2)
            if used > len(blocks):
                return _last_word(blocks, gate, used, exhausted, suspected_at=look)
            if _confirms(blocks[:used], look, gate):
                return _close(blocks[:used], gate, Outcome.REGRESSED)
    return _close(blocks, gate, Outcome.INCONCLUSIVE)


def by_sums(blocks: Sequence[LogRatios]) -> bool:
    """Whether the sums tell another story than the typical pair, beyond noise.

    They do when only some of the calls became slower: then the sums are right.
    """
    return estimate([b.total - b.median for b in blocks]).excludes_zero(DISAGREE_CONFIDENCE)


def _values(blocks: Sequence[LogRatios], sums: bool) -> list[float]:
    return [b.total if sums else b.median for b in blocks]


def _estimate(blocks: Sequence[LogRatios], sums: bool) -> Estimate:
    return estimate(_values(blocks, sums))


def _passes(blocks: Sequence[LogRatios], gate: Gate) -> bool:
    """Few blocks may not yet show a disagreement, so the sums must lie below the limit too."""
    if _estimate(blocks, by_sums(blocks)).bound(1 - SUSPECT_LEVEL) >= gate.limit:
        return False
    return _estimate(blocks, sums=True).bound(1 - CONTRADICT_LEVEL) < gate.limit


def _kind_of_pass(blocks: Sequence[LogRatios], gate: Gate) -> Outcome:
    bound = _estimate(blocks, by_sums(blocks)).bound(1 - SUSPECT_LEVEL)
    improved = bound < math.log1p(-min(gate.threshold, 0.99))
    return Outcome.IMPROVED if improved else Outcome.UNCHANGED


def _confirms(blocks: Sequence[LogRatios], suspected_at: int, gate: Gate) -> bool:
    """The level from the fresh blocks alone, their spread from all."""
    values = _values(blocks, by_sums(blocks[:suspected_at]))
    fresh = estimate(values[suspected_at:], spread_of=values)
    return fresh.bound(gate.confirm_level) > gate.limit


def _last_word(
    blocks: Sequence[LogRatios],
    gate: Gate,
    needed: int,
    exhausted: bool,
    suspected_at: int | None = None,
) -> Decision:
    """More blocks are wanted; when there will be none, what there is must do."""
    if not exhausted:
        return Decision(None, needed, *_evidence(blocks, gate))
    if suspected_at is not None:
        if len(blocks) >= suspected_at + LEAST_BLOCKS and _confirms(blocks, suspected_at, gate):
            return _close(blocks, gate, Outcome.REGRESSED)
    elif len(blocks) >= LEAST_BLOCKS and _passes(blocks, gate):
        return _close(blocks, gate, _kind_of_pass(blocks, gate))
    return _close(blocks, gate, Outcome.INCONCLUSIVE)


def _close(blocks: Sequence[LogRatios], gate: Gate, outcome: Outcome) -> Decision:
    return Decision(outcome, len(blocks), *_evidence(blocks, gate))


def _evidence(
    blocks: Sequence[LogRatios], gate: Gate
) -> tuple[Interval | None, float | None, bool]:
    """The reported interval, the smallest change that would have been caught, and by which."""
    if len(blocks) < LEAST_BLOCKS:
        return None, None, False
    sums = by_sums(blocks)
    found = _estimate(blocks, sums)
    tail = (1 - REPORTED_CONFIDENCE) / 2
    change, low, high = (
        math.expm1(x) for x in (found.mean, found.bound(tail), found.bound(1 - tail))
    )
    quantiles = t_quantile(1 - SUSPECT_LEVEL, found.freedom) + t_quantile(
        DETECT_POWER, found.freedom
    )
    detectable = math.expm1(gate.limit + quantiles * found.error)
    return Interval(change, low, high), detectable, sums
