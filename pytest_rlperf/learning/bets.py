"""Is head worse than the base by more than is allowed? A sequential test over pairs of seeds.

A difference is that of one seed: what the base learned less what head learned. What is allowed is a
share of what the base learned with that seed. Under the hypothesis that differences lie
symmetrically around a share of it, each sign of what is left of them after taking it away is a fair
coin, whatever the sizes are: bounded, of two humps, of heavy tails.
So one can bet on the signs. Before a coin falls its stake is chosen, a share of the wealth; whoever
bets on the truth becomes rich, and under the hypothesis the wealth grows beyond 1 / a with a chance
of at most a, at whatever moment one looks (Ville 1939). Hence one may look after every pair and
stop whenever it is clear, and no number of looks has to be planned. Tests of symmetry are as old as
Fisher (1935); that the sums of such coins, divided by what they are made of, behave well was shown
by Efron (J. Am. Stat. Assoc. 64, 1969), and betting as a method of inference is described by
Waudby-Smith and Ramdas (J. R. Stat. Soc. B 86, 2024).

Two sides that learn alike have the same distribution, and the same seeds play no favourites: then
differences are symmetric around zero exactly, without any further assumption. That protects
unchanged code. A head that always learns the allowed share less is as exact a case. Any other loss
of that size makes symmetry an assumption; a mistake there calls a change that is about as large as
what is allowed, or lets a failure pass that strikes so few seeds that none of those trained had it
(`campaign.unseen`). The share is taken of each pair for itself: were it one of the mean of the
base, which is itself an estimate, what was bet on early would change with every seed that follows.

A stake is `tanh(k |x| / s)`, with `s` the root mean square of the differences so far: for normal
differences the best one, where `k` is their mean over their standard deviation. That is not known,
so the wealth is divided among players who believe in different ones. Those who believe in little
are there for many seeds: of 200 runs of 320 normal differences whose mean is a fifth of their
standard deviation 69 % were called, and 41 % without the two of least belief, since the others
stake too much; where the mean was as large as that deviation, it took 13 seeds instead of 12.

Two more believe that some seeds fail and the others learn as before, and stake
`tanh(k (|x| / s)**3)`: next to nothing on small differences. On real returns
(`tests/learning/real_returns.py`) of which three seeds in ten fail, the others alone called 43 to
48 % within 64 seeds, and with these two 86 to 97 %; a loss of 30 % with every seed took 0.1 to 0.8
seeds more, and that nothing had changed at most 0.9 (100 runs of each of three agents, before the
two of least belief came).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

from pytest_rlperf.model.learning import LEAST_SEEDS
from pytest_rlperf.model.metric import Interval, Outcome
from pytest_rlperf.stats.decide import BUILD_LEVEL, Decision

BELIEFS = (
    *((1, 0.125), (1, 0.25), (1, 0.5), (1, 1.0), (1, 2.0), (1, 4.0)),
    *((3, 0.2), (3, 1.0)),
)
"""What each player raises a difference to, and multiplies that by."""
LIMIT_LEVEL = 0.025
"""The chance that a loss of exactly what is allowed is called worse, or passes: what the shown
interval leaves out at each end, so that the two agree."""
DETECT_POWER = 0.9


@dataclass(frozen=True, slots=True)
class SeedLoss:
    """One seed: what head learned less than the base, and what the base learned, in one unit."""

    loss: float
    learned: float

    def beyond(self, share: float) -> float:
        """Return what of the loss lies above a share of what the base learned."""
        return self.loss - share * self.learned


@dataclass(frozen=True, slots=True)
class LearningGate:
    """The rule for one test; what is allowed is a share of what the base learns."""

    threshold: float
    tests: int = 1  # judged in this build

    @property
    def unchanged_level(self) -> float:
        return BUILD_LEVEL / max(1, self.tests)


def wealth_path(differences: Iterable[float]) -> Iterator[float]:
    """Yield after each of them the logarithm of what bets that they are above zero made of 1."""
    wealth = [0.0] * len(BELIEFS)
    squares = 0.0
    for number, x in enumerate(differences, start=1):
        squares += x * x
        if x != 0.0 and squares > 0.0:
            size = x / math.sqrt(squares / number)
            for player, (power, belief) in enumerate(BELIEFS):
                wealth[player] += _log_return(belief * size**power)
        most = max(wealth)
        yield most + math.log(fmean(math.exp(own - most) for own in wealth))


def _log_return(y: float) -> float:
    """Return log(1 + tanh y), without loss of digits where y is far below zero."""
    return math.log(2.0) - (-2.0 * y if y < -FAR else math.log1p(math.exp(-2.0 * y)))


FAR = 300.0
"""Twice as far is still in the range of the exponential function."""


def log_wealth(differences: Iterable[float]) -> float:
    """Return what the bets came to in the end."""
    *_, last = wealth_path(differences)
    return last


def least_pairs(gate: LearningGate) -> int:
    """Return the fewest pairs that can be called worse: where all of them lose the same."""
    pairs = LEAST_SEEDS
    while log_wealth([1.0] * pairs) < -math.log(gate.unchanged_level):
        pairs += 1
    return pairs


def decide(differences: Sequence[SeedLoss], gate: LearningGate, exhausted: bool) -> Decision:
    """Decide on the pairs so far; a pure function of their order."""
    pairs = len(differences)
    outcome = outcome_of(differences, gate)
    if outcome is None and not exhausted:
        return Decision(None, pairs, next_look=max(LEAST_SEEDS, pairs + 1))
    return Decision(
        outcome or Outcome.INCONCLUSIVE,
        pairs,
        interval=interval_of(differences) if pairs > 1 else None,
        detectable=_detectable(differences, gate) if pairs > 1 else None,
        out_of_time=outcome is None,
    )


def outcome_of(differences: Sequence[SeedLoss], gate: LearningGate) -> Outcome | None:
    """Return what the pairs so far are enough for; None: for nothing yet."""
    if len(differences) < LEAST_SEEDS:
        return None
    sure = -math.log(LIMIT_LEVEL)
    if _bets_above(differences, gate.threshold) >= sure and (
        _bets_above(differences, 0.0) >= -math.log(gate.unchanged_level)
    ):
        return Outcome.REGRESSED
    if _bets_below(differences, gate.threshold) < sure:
        return None
    better = _bets_below(differences, -gate.threshold) >= sure
    return Outcome.IMPROVED if better else Outcome.UNCHANGED


def _bets_above(differences: Sequence[SeedLoss], share: float) -> float:
    return log_wealth(each.beyond(share) for each in differences)


def _bets_below(differences: Sequence[SeedLoss], share: float) -> float:
    return log_wealth(-each.beyond(share) for each in differences)


def loss_of(differences: Sequence[SeedLoss]) -> float:
    """Return the loss of all seeds together, as a share of what the base learned with them."""
    return fmean(each.loss for each in differences) / fmean(each.learned for each in differences)


def interval_of(differences: Sequence[SeedLoss]) -> Interval | None:
    """Return the loss with the values that no bet has refuted: 95 %, at every moment.
    None: there are so few that nothing can be refuted.
    """
    loss = loss_of(differences)
    most = max(abs(each.beyond(loss)) for each in differences)
    reach = most / fmean(each.learned for each in differences) or abs(loss) or NEAR
    refuted = -math.log(LIMIT_LEVEL)
    low = _edge(lambda share: _bets_above(differences, share) >= refuted, loss, -reach)
    high = _edge(lambda share: _bets_below(differences, share) >= refuted, loss, reach)
    return None if low is None or high is None else Interval(loss, low, high)


NEAR = 1e-9
DOUBLINGS, HALVINGS = 20, 30


def _edge(is_refuted: Callable[[float], bool], middle: float, step: float) -> float | None:
    """Return where values beyond the middle begin to be refuted; None: not even far away."""
    steps = (2.0**number * step for number in range(DOUBLINGS))
    far = next((step for step in steps if is_refuted(middle + step)), None)
    if far is None:
        return None
    inside, outside = 0.0, far
    for _ in range(HALVINGS):
        between = (inside + outside) / 2
        inside, outside = (inside, between) if is_refuted(middle + between) else (between, outside)
    return middle + outside


def _detectable(differences: Sequence[SeedLoss], gate: LearningGate) -> float:
    """Return about the loss that so many pairs of this spread would have called in nine of ten
    runs: the wealth of who believes the truth grows by half the square of mean over spread a pair.
    """
    pairs, loss = len(differences), loss_of(differences)
    spread = stdev(each.beyond(loss) for each in differences)
    spread /= fmean(each.learned for each in differences)
    players = math.log(len(BELIEFS))

    def least(above: float, level: float) -> float:
        needed = math.sqrt(2 * (players - math.log(level)))
        return above + (needed + NormalDist().inv_cdf(DETECT_POWER)) * spread / math.sqrt(pairs)

    return max(least(gate.threshold, LIMIT_LEVEL), least(0.0, gate.unchanged_level))
