"""What an exchange between p ranks costs, in messages and bytes that follow one another.

The usual algorithms, as Thakur, Rabenseifner and Gropp give them (Int. J. High Performance
Computing Applications 19, 2005): a time is `messages` latencies, and `volumes` times what one rank
has to say, divided by the bandwidth.
"""

import math
from statistics import NormalDist

from pytest_rlperf.model.projection import Collective, MeasuredJob


def messages(collective: Collective, ranks: int) -> int:
    doublings = (ranks - 1).bit_length()  # the logarithm, rounded up
    return doublings + (ranks - 1 if collective is Collective.RING else doublings)


def volumes(collective: Collective, ranks: int) -> float:
    """What a rank has to say goes to every other; of a sum it sends and gets parts."""
    if collective is Collective.ALLREDUCE:
        return 2 * (ranks - 1) / ranks
    return ranks - 1.0


def said_a_sync(job: MeasuredJob, collective: Collective) -> float:
    """Bytes that one rank has to say in a synchronisation, however many it says them to."""
    return job.sent_a_sync / volumes(collective, job.ranks) if job.exchanged else 0.0


def slowest_of(ranks: int) -> float:
    """How far the slowest of so many ranks lies behind the mean, 1 for two of them: the expected
    largest of normal values (Blom, Statistical Estimates and Transformed Beta-Variables, 1958).
    """
    return _largest(ranks) / _largest(2)


def _largest(count: int) -> float:
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def bytes_at(period: float, sent: tuple[tuple[float, float], ...]) -> float:
    """What a rank has to say after so many steps; `sent` is not empty, shortest period first.

    Between two measured periods it follows the power law through both. Outside, it is the most that
    changes of a table can come to: as much as in a shorter period that was not measured, and in
    proportion to the steps of a longer one.
    """
    shortest, longest = sent[0], sent[-1]
    if period <= shortest[0]:
        return shortest[1]
    if period >= longest[0]:
        return longest[1] * period / longest[0]
    above = next(i for i, (known, _) in enumerate(sent) if known > period)
    (p0, b0), (p1, b1) = sent[above - 1], sent[above]
    share = math.log(period / p0) / math.log(p1 / p0)
    return b0 * math.pow(b1 / b0, share)
