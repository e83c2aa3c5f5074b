"""Computing, latency, bandwidth and waiting, fitted from measured MPI jobs.

A job of p ranks takes

    steps / p · compute · (1 + waiting · slowest(p))
    + syncs · (latency · messages(p) + bytes_a_sync · volumes(p) / bandwidth)

The terms are those with the least squares of relative errors, none of them negative. Compute
and latency have a value for each workload: packing its table is in the latter. What a job
overlapped is not in its time, so latency and bandwidth are those that were left to wait for.

What a job itself says of the time that exchanges took (`sync_seconds`) is not fitted: when two
ranks met every 4,096 steps of tic-tac-toe, it held four fifths of what a meeting cost in the end.

Intervals are the jackknife's (Miller, Biometrika 61, 1974): how far a term moves when a job is
left out, with Student's t. The same fits tell how well a job is predicted by the others.
"""

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pytest_rlperf.errors import UsageError
from pytest_rlperf.scale.jobs import (
    CheckedJob,
    Collective,
    Fit,
    FittedTerm,
    MeasuredJob,
    Network,
    Terms,
)
from pytest_rlperf.scale.projection import (
    lag_of_slowest,
    messages,
    payload_per_sync,
    seconds_by_part,
)
from pytest_rlperf.stats.estimate import t_quantile

CONFIDENCE = 0.95
CONTRADICTION = 0.5
"""A job that takes this share more or less than all of them together say is none of theirs."""
ROUNDS = 50
"""Of the fit, at most; waiting is a share of computing, so each takes the computing of the last."""
SETTLED = 1e-9
CURES = (
    "each workload exchanges as often for its steps in all jobs; add other sync periods",
    "all say as much in each synchronisation; add jobs of other sync periods",
    "waiting goes with what they compute or say; add jobs of one rank and of longer sync periods",
)
"""What tells latency from computing, bandwidth from both, and waiting from all."""

Jobs = Sequence[MeasuredJob]


@dataclass(frozen=True, slots=True)
class TermValues:
    """The terms without their intervals."""

    step_s: Mapping[str, float]
    latency_s: Mapping[str, float]
    byte_s: float
    waiting: float

    def of(self, workload: str) -> Terms | None:
        if workload not in self.step_s:
            return None
        network = Network(self.latency_s[workload], self.byte_s)
        return Terms(self.step_s[workload], self.waiting, (network,))


def fit_jobs(jobs: Jobs, collective: Collective) -> Fit:
    """Fit the terms; raises UsageError where the jobs do not tell them."""
    _check(jobs, collective)
    whole = _fit_values(jobs, collective)
    rests = [_fit_without(jobs, i, collective) for i in range(len(jobs))]
    checked = [
        _check_job(job, whole, rest, collective) for job, rest in zip(jobs, rests, strict=True)
    ]
    _check_errors(whole, checked)
    # An interval from some of the jobs only would leave out those that matter most.
    refits = [rest for rest in rests if rest is not None] if all(rests) else []
    return Fit(
        collective,
        step_s={
            name: _jackknife(value, [refit.step_s.get(name) for refit in refits])
            for name, value in whole.step_s.items()
        },
        latency_s={
            name: _jackknife(value, [refit.latency_s.get(name) for refit in refits])
            for name, value in whole.latency_s.items()
        },
        byte_s=_jackknife(whole.byte_s, [refit.byte_s for refit in refits]),
        waiting=_jackknife(whole.waiting, [refit.waiting for refit in refits]),
        jobs=tuple(checked),
    )


# -- the fit ------------------------------------------------------------------------------------


def _fit_values(jobs: Jobs, collective: Collective) -> TermValues:
    names = _workloads(jobs)
    step_s = [_quickest_s(_jobs_of(jobs, name)) for name in names]
    for _ in range(ROUNDS):
        terms = nonnegative_least_squares(_rows(jobs, names, step_s, collective))
        before, step_s = step_s, terms[: len(names)]
        if all(math.isclose(a, b, rel_tol=SETTLED) for a, b in zip(before, step_s, strict=True)):
            break
    return TermValues(
        step_s=dict(zip(names, step_s, strict=True)),
        latency_s=dict(zip(names, terms[len(names) : -2], strict=True)),
        byte_s=terms[-2],
        waiting=terms[-1],
    )


def _quickest_s(jobs: Jobs) -> float:
    return min(job.computing_s / job.steps_of_rank for job in jobs)


def _rows(
    jobs: Jobs, names: Sequence[str], step_s: Sequence[float], collective: Collective
) -> list[list[float]]:
    return [_row(job, names.index(job.workload), step_s, collective) for job in jobs]


def _row(
    job: MeasuredJob, workload: int, step_s: Sequence[float], collective: Collective
) -> list[float]:
    """Return what each term is multiplied by, over what all have to come to."""
    steps, latencies = [0.0] * len(step_s), [0.0] * len(step_s)
    steps[workload] = job.steps_of_rank
    latencies[workload] = job.syncs * messages(collective, job.ranks)
    sent = job.bytes_sent / job.ranks
    waiting = job.steps_of_rank * step_s[workload] * lag_of_slowest(job.ranks)
    return [value / job.seconds for value in (*steps, *latencies, sent, waiting)]


def _unclear(jobs: Jobs, collective: Collective) -> int | None:
    """Say which of the CURES they need; None: they tell all terms."""
    names = _workloads(jobs)
    step_s = [_quickest_s(_jobs_of(jobs, name)) for name in names]
    term = first_confused(_rows(jobs, names, step_s, collective))
    return None if term is None else max(0, term - 2 * len(names) + 1)


def _workloads(jobs: Jobs) -> list[str]:
    return list(dict.fromkeys(job.workload for job in jobs))


def _jobs_of(jobs: Jobs, workload: str) -> list[MeasuredJob]:
    return [job for job in jobs if job.workload == workload]


# -- what each job does to them -----------------------------------------------------------------


def _fit_without(jobs: Jobs, left_out: int, collective: Collective) -> TermValues | None:
    """Fit all jobs but one; None: the others do not tell all terms."""
    others = [job for i, job in enumerate(jobs) if i != left_out]
    return None if _unclear(others, collective) is not None else _fit_values(others, collective)


def _jackknife(whole: float, without: Sequence[float | None]) -> FittedTerm:
    moved = [value for value in without if value is not None]
    n = len(moved)
    if n < max(2, len(without)):
        return FittedTerm(whole)
    mean = statistics.fmean(moved)
    error = math.sqrt((n - 1) / n * math.fsum((value - mean) ** 2 for value in moved))
    reach = t_quantile((1 + CONFIDENCE) / 2, n - 1) * error
    return FittedTerm(whole, max(0.0, whole - reach), whole + reach)


def _check_job(
    job: MeasuredJob, whole: TermValues, rest: TermValues | None, collective: Collective
) -> CheckedJob:
    terms = whole.of(job.workload)
    assert terms is not None
    others = None if rest is None else rest.of(job.workload)
    left_out = None if others is None else _error(job, others, collective)
    return CheckedJob(job, _error(job, terms, collective), left_out)


def _error(job: MeasuredJob, terms: Terms, collective: Collective) -> float:
    syncs = job.syncs if job.exchanged else 0
    payload = payload_per_sync(job, collective)
    parts = seconds_by_part(terms, collective, job.ranks, job.steps_of_rank, syncs, payload)
    return math.fsum(parts.values()) / job.seconds - 1


# -- jobs that do not tell ----------------------------------------------------------------------


def _check(jobs: Jobs, collective: Collective) -> None:
    sizes = sorted({job.ranks for job in jobs})
    if len(sizes) < 2:
        raise UsageError(
            f"all jobs have {sizes[0]} rank{'s' * (sizes[0] > 1)}, which says nothing of how time "
            "goes with their number; add jobs of another, 1 and 2 for example."
        )
    exchanging = [job for job in jobs if job.exchanged]
    names = _workloads(jobs)
    lonely = next((name for name in names if not _jobs_of(exchanging, name)), None)
    if lonely is not None:
        raise UsageError(
            f"no job of {lonely} has more than one rank, so nothing says what it sends; add one, "
            "or leave its jobs out."
        )
    terms = 2 * len(names) + 2
    if len(jobs) <= terms:  # with as many, any figures would fit
        raise UsageError(
            f"{len(jobs)} jobs are too few for {terms} terms; measure {terms + 1} at least, with "
            "several sync periods."
        )
    unclear = _unclear(jobs, collective)
    if unclear is not None:
        raise UsageError(f"the jobs do not tell all terms apart: {CURES[unclear]}.")


NO_TIME = -1 + 1e-12
"""The error of a model by which a job takes no time at all."""


def _distance(job: CheckedJob) -> float:
    """Return how far the model lies off, too long or too short, on a logarithmic scale."""
    return abs(math.log1p(max(job.error, NO_TIME)))


def _check_errors(whole: TermValues, checked: Sequence[CheckedJob]) -> None:
    idle = next((name for name, step_s in whole.step_s.items() if step_s <= 0), None)
    if idle is not None:
        raise UsageError(
            f"the jobs contradict each other: all time of {idle} goes with its exchanges, and none "
            "with its steps; measure all anew on one machine."
        )
    worst = max(checked, key=_distance)
    if _distance(worst) > math.log1p(CONTRADICTION):
        took, modelled = worst.job.seconds, worst.job.seconds * (1 + worst.error)
        raise UsageError(
            f"the jobs contradict each other: {worst.job.name} took {took:.3g} s, and all together "
            f"say {modelled:.3g} s; leave it out, or measure all anew on one machine."
        )


# -- least squares without negative terms, and without numpy -------------------------------------
#
# The active-set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23):
# terms join one at a time, the most wanted first, and leave when the others would make them
# negative.

Vector = list[float]

TOLD_APART = 0.01
"""A column that lies closer than this, as a sine, to a mix of the others is told from them by the
noise of the rows only."""
ROUNDING = 1e-12


def nonnegative_least_squares(rows: Sequence[Sequence[float]]) -> Vector:
    """Find the x >= 0 with the least sum of (row · x - 1)²: each row is over what it comes to."""
    lengths = [math.hypot(*column) for column in zip(*rows, strict=True)]
    columns = [_over(column, s) for column, s in zip(zip(*rows, strict=True), lengths, strict=True)]
    target = [1.0] * len(rows)
    x, free = [0.0] * len(columns), set[int]()
    while (joining := _most_wanted(columns, _left(columns, x, target), free)) is not None:
        free.add(joining)
        x = _settled(columns, target, x, free)
        if joining not in free:  # it was wanted by no more than rounding
            break
    return [value / length if length else 0.0 for value, length in zip(x, lengths, strict=True)]


def _most_wanted(columns: Sequence[Vector], left: Vector, free: Collection[int]) -> int | None:
    wanted = {i: _dot(c, left) for i, c in enumerate(columns) if i not in free}
    best = max(wanted, key=lambda i: wanted[i], default=None)
    return best if best is not None and wanted[best] > ROUNDING * math.sqrt(len(left)) else None


def _settled(columns: Sequence[Vector], target: Vector, x: Vector, free: set[int]) -> Vector:
    """Solve for the free terms; go from `x` as far towards it as none is negative, without those
    that would be next.
    """
    while free:
        order = sorted(free)
        solved = dict(zip(order, _solve([columns[i] for i in order], target), strict=True))
        if min(solved.values()) > 0:
            return [solved.get(i, 0.0) for i in range(len(columns))]
        share = min(x[i] / (x[i] - solved[i]) for i in order if solved[i] <= 0)
        x = [old + share * (solved.get(i, 0.0) - old) for i, old in enumerate(x)]
        gone = {i for i in order if x[i] <= ROUNDING and solved[i] <= 0}
        free -= gone
        x = [0.0 if i in gone else value for i, value in enumerate(x)]
    return [0.0] * len(columns)


def first_confused(rows: Sequence[Sequence[float]]) -> int | None:
    """Find the first term that the rows cannot tell from those before it; None: there is none."""
    basis: list[Vector] = []
    for i, column in enumerate(zip(*rows, strict=True)):
        length = math.hypot(*column)
        own = _without(list(column), basis)
        if math.hypot(*own) <= TOLD_APART * length:
            return i
        basis.append(_over(own, math.hypot(*own)))
    return None


def _solve(columns: Sequence[Vector], target: Vector) -> Vector:
    """Solve plain least squares, by Gram and Schmidt; each column twice, so that rounding does no
    harm. A column that is a mix of those before it gets nothing.
    """
    basis: list[Vector] = []
    for column in columns:
        own = _without(_without(column, basis), basis)
        length = math.hypot(*own)
        basis.append(_over(own, length if length > ROUNDING else 0.0))
    x: Vector = [0.0] * len(columns)
    for i in reversed(range(len(columns))):
        known = math.fsum(_dot(basis[i], columns[k]) * x[k] for k in range(i + 1, len(columns)))
        own_share = _dot(basis[i], columns[i])
        x[i] = (_dot(basis[i], target) - known) / own_share if own_share else 0.0
    return x


def _left(columns: Sequence[Vector], x: Vector, target: Vector) -> Vector:
    return [t - _dot(row, x) for t, row in zip(target, zip(*columns, strict=True), strict=True)]


def _without(column: Vector, basis: Sequence[Vector]) -> Vector:
    for direction in basis:
        share = _dot(direction, column)
        column = [c - share * d for c, d in zip(column, direction, strict=True)]
    return column


def _over(vector: Sequence[float], length: float) -> Vector:
    return [value / length if length else 0.0 for value in vector]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))
