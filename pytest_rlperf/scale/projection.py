"""The model: what the terms of measured jobs say of more nodes, one rank each.

An exchange between p ranks costs messages and bytes that follow one another. The usual algorithms
are as Thakur, Rabenseifner and Gropp give them (Int. J. High Performance Computing Applications 19,
2005): a time is `messages` latencies, and `volumes` times what one rank has to say, divided by the
bandwidth.
"""

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from statistics import NormalDist

from pytest_rlperf.scale.jobs import (
    Collective,
    Fit,
    Forecast,
    MeasuredJob,
    Network,
    ProjectedPoint,
    ProjectedRow,
    Projection,
    ScalePlan,
    Terms,
    TimePart,
)

ALIKE = 1.02
"""Periods that are no further apart than this are one: the last synchronisation of a job may come
early."""


def seconds_by_part(
    terms: Terms,
    collective: Collective,
    ranks: int,
    steps_of_rank: float,
    syncs: float,
    bytes_a_sync: float,
) -> dict[TimePart, float]:
    """Split the seconds of a job by where they go."""
    computing = steps_of_rank * terms.step_s
    parts = {
        TimePart.COMPUTING: computing,
        TimePart.WAITING: computing * terms.waiting * lag_of_slowest(ranks),
        TimePart.LATENCY: 0.0,
        TimePart.BANDWIDTH: 0.0,
    }
    for network in terms.networks:
        latency_s = syncs * network.latency_s * messages(collective, ranks)
        bytes_s = syncs * network.byte_s * bytes_a_sync * volumes(collective, ranks)
        waited_for = _share_waited_for(latency_s + bytes_s, network.overlap * computing)
        parts[TimePart.LATENCY] += waited_for * latency_s
        parts[TimePart.BANDWIDTH] += waited_for * bytes_s
    return parts


def _share_waited_for(exchange_s: float, hidden_s: float) -> float:
    """Return the share of an exchange that is not hidden."""
    return max(0.0, 1 - hidden_s / exchange_s) if exchange_s > 0 else 0.0


def modelled(terms: Terms, plan: ScalePlan, nodes: int) -> ProjectedPoint:
    """Model a job; even one that is shorter than a period brings its ranks together once."""
    steps = plan.steps_of_rank(nodes)
    syncs = max(1.0, steps / plan.period)
    sent = bytes_at(min(steps, plan.period), plan.sent)
    parts = seconds_by_part(terms, plan.collective, nodes, steps, syncs, sent)
    seconds = math.fsum(parts.values())
    return ProjectedPoint(nodes, nodes * steps, seconds, parts[TimePart.COMPUTING] / seconds, parts)


def shortest_period(terms: Terms, plan: ScalePlan, nodes: int, target: float) -> int | None:
    """Find the shortest period at which the efficiency holds; a longer one never lowers it. None:
    it does not even hold with one synchronisation at the end.
    """
    periods = range(1, max(1, int(plan.steps_of_rank(nodes))) + 1)

    def holds(period: int) -> bool:
        return modelled(terms, plan.every(period), nodes).efficiency >= target

    first = bisect_left(periods, True, key=holds)
    return periods[first] if first < len(periods) else None


def project(
    fit: Fit,
    workload: str,
    plan: ScalePlan,
    nodes: Sequence[int],
    stated: Network | None,
    target: float | None,
) -> Projection:
    """Put the measured jobs of a workload beside what its terms say of more nodes."""

    def forecast(count: int, *networks: Network) -> Forecast:
        terms = fit.terms(workload, *networks)
        held = None if target is None else shortest_period(terms, plan, count, target)
        return Forecast(modelled(terms, plan, count), held)

    def row(count: int) -> ProjectedRow:
        if stated is None:
            return ProjectedRow(count, forecast(count), None)
        on_top = forecast(count, stated, fit.network(workload))
        return ProjectedRow(count, forecast(count, stated), on_top)

    def measured(job: MeasuredJob) -> ProjectedPoint:
        efficiency = job.steps_of_rank * fit.step_s[workload].value / job.seconds
        return ProjectedPoint(job.ranks, job.steps, job.seconds, efficiency, parts={})

    jobs = [each.job for each in fit.jobs if each.job.workload == workload]
    shown = [job for job in jobs if not job.exchanged or alike(job.period, plan.period)]
    points = tuple(map(measured, sorted(shown, key=lambda job: job.ranks)))
    return Projection(workload, plan, points, tuple(map(row, nodes)), target)


def alike(one: float, other: float) -> bool:
    return max(one, other) <= ALIKE * min(one, other)


def sent_by_period(
    jobs: Sequence[MeasuredJob], collective: Collective
) -> tuple[tuple[float, float], ...]:
    """List what a rank had to say in each measured period, of jobs that exchanged.

    A longer period changes no more of the table than its parts do: where the figures say otherwise,
    the shorter one counts as having sent as much for each step as the longer.
    """
    groups: list[list[MeasuredJob]] = []
    for job in sorted(jobs, key=lambda job: job.period):
        if groups and alike(groups[-1][0].period, job.period):
            groups[-1].append(job)
        else:
            groups.append([job])
    known = [
        (
            statistics.fmean(job.period for job in group),
            statistics.fmean(payload_per_sync(job, collective) for job in group),
        )
        for group in groups
    ]
    sent, rate = [], 0.0
    for period, size in reversed(known):
        rate = max(rate, size / period)
        sent.append((period, rate * period))
    return tuple(reversed(sent))


def messages(collective: Collective, ranks: int) -> int:
    doublings = (ranks - 1).bit_length()  # the logarithm, rounded up
    return doublings + (ranks - 1 if collective is Collective.RING else doublings)


def volumes(collective: Collective, ranks: int) -> float:
    """Count how often what a rank has to say is sent: to every other; of a sum, in parts."""
    if collective is Collective.ALLREDUCE:
        return 2 * (ranks - 1) / ranks
    return ranks - 1.0


def payload_per_sync(job: MeasuredJob, collective: Collective) -> float:
    """Return the bytes that a rank has to say in a synchronisation, to however many others."""
    return job.sent_per_sync / volumes(collective, job.ranks) if job.exchanged else 0.0


def lag_of_slowest(ranks: int) -> float:
    """Return how far the slowest of so many ranks lies behind the mean, 1 for two of them: the
    expected largest of normal values (Blom, Statistical Estimates and Transformed Beta-Variables,
    1958).
    """
    return _largest(ranks) / _largest(2)


def bytes_at(period: float, sent: tuple[tuple[float, float], ...]) -> float:
    """Estimate what a rank has to say after so many steps; `sent` is not empty, shortest first.

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


def _largest(count: int) -> float:
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
