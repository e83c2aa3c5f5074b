"""Computing, latency, bandwidth and waiting, fitted from measured MPI jobs.

A job of p ranks takes

    steps / p · compute · (1 + waiting · slowest(p))
    + syncs · (latency · messages(p) + bytes_a_sync · volumes(p) / bandwidth)

and tells how much of its time was not computing (`sync_seconds`). So there are two fits, both by
least squares of relative errors: compute from the one part, for each workload; from the other the
rest, which cannot be negative. Latency has a value for each workload, since what packing a table
costs is in it. What a job overlapped is in neither part: latency and bandwidth are those that were
left to wait for.

Intervals are the jackknife's (Miller, Biometrika 61, 1974): how far a term moves when a job is left
out, with Student's t. The same fits tell how well a job is predicted by the others.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_rlperf.errors import UsageError
from pytest_rlperf.judge.exchange import messages, said_a_sync, slowest_of
from pytest_rlperf.judge.nonnegative import confused, nonnegative_least_squares
from pytest_rlperf.judge.projecting import parts_of
from pytest_rlperf.judge.student import t_quantile
from pytest_rlperf.model.projection import (
    Checked,
    Collective,
    Fit,
    Fitted,
    MeasuredJob,
    Network,
    Terms,
)

CONFIDENCE = 0.95
CONTRADICTION = 0.5
"""A job that takes this share more or less than all of them together say is none of theirs."""
SHARED = 2
"""Terms of an exchange that all workloads share."""
CURES = (
    "all say as much in each synchronisation; add jobs of other sync periods",
    "what they say goes with their steps; add jobs of longer sync periods",
)
"""What tells bandwidth from latency, and waiting from both."""

Jobs = Sequence[MeasuredJob]


@dataclass(frozen=True, slots=True)
class Values:
    """The terms without their intervals."""

    step_s: Mapping[str, float]
    latency_s: Mapping[str, float]
    byte_s: float
    waiting: float

    def of(self, workload: str) -> Terms | None:
        if workload not in self.step_s or workload not in self.latency_s:
            return None
        network = Network(self.latency_s[workload], self.byte_s)
        return Terms(self.step_s[workload], self.waiting, (network,))


def fit_jobs(jobs: Jobs, collective: Collective) -> Fit:
    """Raises UsageError where the jobs do not tell the terms."""
    _check(jobs, collective)
    whole = _values(jobs, collective)
    rests = [_rest(jobs, i, collective) for i in range(len(jobs))]
    checked = [
        _checked(job, whole, rest, collective) for job, rest in zip(jobs, rests, strict=True)
    ]
    _check_errors(checked)
    exchanging = [rest for job, rest in zip(jobs, rests, strict=True) if job.exchanged]
    # An interval from some of the jobs only would leave out those that matter most.
    told = [rest for rest in exchanging if rest is not None] if all(exchanging) else []
    return Fit(
        collective,
        step_s={name: _fitted_step_s(_of(jobs, name)) for name in whole.step_s},
        latency_s={
            name: _jackknife(value, [rest.latency_s.get(name) for rest in told])
            for name, value in whole.latency_s.items()
        },
        byte_s=_jackknife(whole.byte_s, [rest.byte_s for rest in told]),
        waiting=_jackknife(whole.waiting, [rest.waiting for rest in told]),
        jobs=tuple(checked),
    )


# -- the two fits -------------------------------------------------------------------------------


def _values(jobs: Jobs, collective: Collective) -> Values:
    exchanging = _exchanging(jobs)
    names = _workloads(exchanging)
    *latencies, byte_s, waiting = nonnegative_least_squares(_rows(exchanging, collective))
    return Values(
        {name: _step_s(_of(jobs, name)) for name in _workloads(jobs)},
        dict(zip(names, latencies, strict=True)),
        byte_s,
        waiting,
    )


def _step_s(jobs: Jobs) -> float:
    """Of one workload: the c with the least sum of (c · rate - 1)²."""
    rates = [job.steps_of_rank / job.computing_s for job in jobs]
    return math.fsum(rates) / math.fsum(rate * rate for rate in rates)


def _rows(jobs: Jobs, collective: Collective) -> list[list[float]]:
    """What each term is multiplied by, over what all have to come to."""
    names = _workloads(jobs)
    return [_row(job, names, collective) for job in jobs]


def _row(job: MeasuredJob, names: Sequence[str], collective: Collective) -> list[float]:
    latencies = [0.0] * len(names)
    latencies[names.index(job.workload)] = job.syncs * messages(collective, job.ranks)
    waiting = job.computing_s * slowest_of(job.ranks)
    row = [*latencies, job.syncs * job.sent_a_sync, waiting]
    return [value / job.sync_seconds for value in row]


def _workloads(jobs: Jobs) -> list[str]:
    return list(dict.fromkeys(job.workload for job in jobs))


def _of(jobs: Jobs, workload: str) -> list[MeasuredJob]:
    return [job for job in jobs if job.workload == workload]


def _exchanging(jobs: Jobs) -> list[MeasuredJob]:
    return [job for job in jobs if job.exchanged]


# -- what each job does to them -----------------------------------------------------------------


def _but(jobs: Jobs, left_out: int) -> list[MeasuredJob]:
    return [job for i, job in enumerate(jobs) if i != left_out]


def _rest(jobs: Jobs, left_out: int, collective: Collective) -> Values | None:
    """None: the others do not tell all terms."""
    others = _but(jobs, left_out)
    rows = _rows(_exchanging(others), collective)
    return None if not rows or confused(rows) is not None else _values(others, collective)


def _fitted_step_s(jobs: Jobs) -> Fitted:
    rests = [_but(jobs, i) for i in range(len(jobs))]
    return _jackknife(_step_s(jobs), [_step_s(rest) if rest else None for rest in rests])


def _jackknife(whole: float, without: Sequence[float | None]) -> Fitted:
    moved = [value for value in without if value is not None]
    n = len(moved)
    if n < max(2, len(without)):
        return Fitted(whole)
    mean = statistics.fmean(moved)
    error = math.sqrt((n - 1) / n * math.fsum((value - mean) ** 2 for value in moved))
    reach = t_quantile((1 + CONFIDENCE) / 2, n - 1) * error
    return Fitted(whole, max(0.0, whole - reach), whole + reach)


def _checked(
    job: MeasuredJob, whole: Values, rest: Values | None, collective: Collective
) -> Checked:
    terms = whole.of(job.workload)
    assert terms is not None
    others = None if rest is None else rest.of(job.workload)
    left_out = None if others is None else _error(job, others, collective)
    return Checked(job, _error(job, terms, collective), left_out)


def _error(job: MeasuredJob, terms: Terms, collective: Collective) -> float:
    syncs = job.syncs if job.exchanged else 0
    said = said_a_sync(job, collective)
    parts = parts_of(terms, collective, job.ranks, job.steps_of_rank, syncs, said)
    return math.fsum(parts.values()) / job.seconds - 1


# -- jobs that do not tell ----------------------------------------------------------------------


def _check(jobs: Jobs, collective: Collective) -> None:
    sizes = sorted({job.ranks for job in jobs})
    if len(sizes) < 2:
        raise UsageError(
            f"all jobs have {sizes[0]} rank{'s' * (sizes[0] > 1)}, which says nothing of how time "
            "goes with their number; add jobs of another, 1 and 2 for example."
        )
    exchanging = _exchanging(jobs)
    lonely = next((n for n in _workloads(jobs) if not _of(exchanging, n)), None)
    if lonely is not None:
        raise UsageError(
            f"no job of {lonely} has more than one rank, so nothing says what it sends; add one, "
            "or leave its jobs out."
        )
    terms = len(_workloads(jobs)) + SHARED
    if len(exchanging) <= terms:  # with as many, any figures would fit
        raise UsageError(
            f"{len(exchanging)} jobs of more than one rank are too few for {terms} terms of an "
            f"exchange; measure {terms + 1} at least, with several sync periods."
        )
    unclear = confused(_rows(exchanging, collective))
    if unclear is not None:
        cure = CURES[unclear - len(_workloads(jobs))]
        raise UsageError(f"the jobs do not tell latency, bandwidth and waiting apart: {cure}.")


def _check_errors(checked: Sequence[Checked]) -> None:
    worst = max(checked, key=lambda each: abs(math.log1p(each.error)))
    if abs(math.log1p(worst.error)) > math.log1p(CONTRADICTION):
        took, said = worst.job.seconds, worst.job.seconds * (1 + worst.error)
        raise UsageError(
            f"the jobs contradict each other: {worst.job.name} took {took:.3g} s, and all together "
            f"say {said:.3g} s; leave it out, or measure all anew on one machine."
        )
