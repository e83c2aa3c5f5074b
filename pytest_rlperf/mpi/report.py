"""An MPI job as text: how it failed, and what its ranks did."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_rlperf.model.block import SideBlock
from pytest_rlperf.model.quantity import format_bytes, format_percent, format_time
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.mpi.rank_files import TROUBLE, JobEnd, RankEnd, RankOutcome, cause_of, names_of
from pytest_rlperf.report.text import aligned


def render_job(job: JobEnd, repeat: str) -> str:
    """Return what went wrong in one line, then a table of the ranks, then the evidence."""
    parts = [_headline(job), "\n".join(_table(job.ranks))]
    parts += _grouped(job.ranks, lambda rank: rank.text)
    parts += _grouped(job.ranks, lambda rank: rank.stacks)
    if not any(rank.outcome in TROUBLE for rank in job.ranks) and job.launcher_output:
        parts.append(f"the launcher said:\n{job.launcher_output}")
    parts.append(f"repeat: {repeat}")
    return "\n\n".join(parts)


def render_outputs(job: JobEnd) -> list[tuple[str, str]]:
    """Return what each rank printed, as sections of a report."""
    return [(f"Output of rank {rank.rank}", rank.output) for rank in job.ranks if rank.output]


def _headline(job: JobEnd) -> str:
    text = f"{cause_of(job)} ({len(job.ranks)} ranks)"
    if job.left:
        pids = ", ".join(map(str, job.left))
        text += f"; processes that would not end: {pids}"
    return text


def _table(ranks: Sequence[RankEnd]) -> list[str]:
    head = ["rank", "last phase", "outcome", "signal"]
    return aligned([head, *(_row(rank) for rank in ranks)])


def _row(rank: RankEnd) -> list[str]:
    outcome = rank.outcome.value
    if rank.outcome is RankOutcome.EXITED:
        outcome += f" with {rank.status}"
    return [str(rank.rank), rank.phase or "-", outcome, rank.signal or "-"]


def _grouped(ranks: Sequence[RankEnd], text_of: Callable[[RankEnd], str]) -> Iterator[str]:
    """Yield equal texts once, with all ranks that gave them."""
    groups: dict[str, list[RankEnd]] = {}
    for rank in ranks:
        if text := text_of(rank):
            groups.setdefault(text, []).append(rank)
    for text, members in groups.items():
        yield f"{names_of(members)}:\n{text}"


# -- what the ranks of an MPI test did, over all blocks -----------------------------------------


@dataclass(frozen=True, slots=True)
class RankSummary:
    """What the ranks of a test did, one number a rank. Times are those of a call, medians over
    blocks; the shares belong to a slice of each block that is not judged.
    """

    nprocs: int
    time_ns: list[float]
    time_min_ns: float
    time_median_ns: float
    time_max_ns: float
    imbalance: float
    communication: list[float]
    peak_bytes: list[float]


def rank_summary(test: TestResult) -> RankSummary | None:
    """Return what head's ranks did; None: it is no MPI test, or was not measured."""
    sides = [block.head for block in test.blocks if block.head.ranks is not None]
    if not sides:
        return None
    facts = [side.ranks for side in sides if side.ranks is not None]
    times = _medians([_call_ns(side) for side in sides])
    return RankSummary(
        nprocs=len(times),
        time_ns=times,
        time_min_ns=min(times),
        time_median_ns=statistics.median(times),
        time_max_ns=max(times),
        imbalance=statistics.median(f.imbalance for f in facts),
        communication=_medians([f.communication for f in facts]),
        peak_bytes=[max(rank) for rank in zip(*(f.peak_bytes for f in facts), strict=True)],
    )


def render_ranks(test: TestResult) -> str | None:
    """Return "4 ranks, 9.1 to 9.8 ms a call, imbalance 5.0 %, …"; None: it is no MPI test."""
    ranks = rank_summary(test)
    if ranks is None:
        return None
    shares = sorted(100 * share for share in ranks.communication)
    return (
        f"{ranks.nprocs} ranks, {format_time(ranks.time_min_ns)} to "
        f"{format_time(ranks.time_max_ns)} a call, imbalance "
        f"{format_percent(ranks.imbalance, signed=False)}, communicating for "
        f"{shares[0]:.0f} to {shares[-1]:.0f} % of it, peak of a rank "
        f"{format_bytes(max(ranks.peak_bytes))}"
    )


def _call_ns(side: SideBlock) -> list[float]:
    """Return the time of a call, for each rank."""
    assert side.ranks is not None
    calls = len(side.own_ns) * side.calls
    return [own_ns / calls for own_ns in side.ranks.own_ns]


def _medians(blocks: Sequence[Sequence[float]]) -> list[float]:
    """Return the median over blocks, for each rank."""
    return [statistics.median(rank) for rank in zip(*blocks, strict=True)]
