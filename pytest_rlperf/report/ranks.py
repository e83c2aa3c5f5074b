"""An MPI job that failed, as the text of one pytest failure."""

from collections.abc import Callable, Iterator, Sequence

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
    text = f"{_cause(job)} ({len(job.ranks)} ranks)"
    if job.left:
        pids = ", ".join(map(str, job.left))
        text += f"; processes that would not end: {pids}"
    return text


def _cause(job: JobEnd) -> str:
    failed = _of(job, RankOutcome.FAILED)
    if failed:
        return f"{_names(failed)} failed: {_error(failed[0].text)}"
    if crashed := _of(job, RankOutcome.KILLED):
        return f"{_names(crashed)} ended by {crashed[0].signal} during {crashed[0].phase}"
    if left := _of(job, RankOutcome.EXITED):
        return f"{_names(left)} exited with status {left[0].status} during {left[0].phase}"
    if stuck := _of(job, RankOutcome.STUCK):
        return f"{_names(stuck)} did not end within {job.timeout_s:g} s"
    if some := _of(job, RankOutcome.SKIPPED):
        return f"{_names(some)} skipped the test, and the others did not"
    return f"the launcher ended with status {job.status}"


def _of(job: JobEnd, outcome: RankOutcome) -> list[RankEnd]:
    return [rank for rank in job.ranks if rank.outcome is outcome]


def _names(ranks: Sequence[RankEnd]) -> str:
    numbers = ", ".join(str(rank.rank) for rank in ranks)
    return f"rank {numbers}" if len(ranks) == 1 else f"ranks {numbers}"


def _error(traceback: str) -> str:
    """The line that says what happened."""
    lines = traceback.splitlines() or [""]
    errors = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    return errors[0] if errors else lines[0]


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
        yield f"{_names(members)}:\n{text}"
