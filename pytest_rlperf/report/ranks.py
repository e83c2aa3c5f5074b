"""An MPI job that failed, as the text of one pytest failure."""

from collections.abc import Callable, Iterator, Sequence

from pytest_rlperf.launch.mpi.cause import cause_of, names_of
from pytest_rlperf.model.ranks import TROUBLE, JobEnd, RankEnd, RankOutcome
from pytest_rlperf.report.columns import aligned


def render_job(job: JobEnd, repeat: str) -> str:
    """What went wrong in one line, then rank × phase × outcome × signal, then the evidence."""
    parts = [_headline(job), "\n".join(_table(job.ranks))]
    parts += _grouped(job.ranks, lambda rank: rank.text)
    parts += _grouped(job.ranks, lambda rank: rank.stacks)
    if not any(rank.outcome in TROUBLE for rank in job.ranks) and job.launcher_output:
        parts.append(f"the launcher said:\n{job.launcher_output}")
    parts.append(f"repeat: {repeat}")
    return "\n\n".join(parts)


def render_outputs(job: JobEnd) -> list[tuple[str, str]]:
    """What each rank printed, as sections of a report."""
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
    """Equal texts once, with all ranks that gave them."""
    groups: dict[str, list[RankEnd]] = {}
    for rank in ranks:
        if text := text_of(rank):
            groups.setdefault(text, []).append(rank)
    for text, members in groups.items():
        yield f"{names_of(members)}:\n{text}"
