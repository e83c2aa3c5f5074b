"""Why a job failed, in one line."""

from collections.abc import Sequence

from pytest_rlperf.model.ranks import JobEnd, RankEnd, RankOutcome


def cause_of(job: JobEnd) -> str:
    failed = _of(job, RankOutcome.FAILED)
    if failed:
        return f"{names_of(failed)} failed: {_error(failed[0].text)}"
    if crashed := _of(job, RankOutcome.KILLED):
        return f"{names_of(crashed)} ended by {crashed[0].signal} during {crashed[0].phase}"
    if left := _of(job, RankOutcome.EXITED):
        return f"{names_of(left)} exited with status {left[0].status} during {left[0].phase}"
    if stuck := _of(job, RankOutcome.STUCK):
        return f"{names_of(stuck)} did not end within {job.timeout_s:g} s"
    if some := _of(job, RankOutcome.SKIPPED):
        return f"{names_of(some)} skipped the test, and the others did not"
    return f"the launcher ended with status {job.status}"


def names_of(ranks: Sequence[RankEnd]) -> str:
    numbers = ", ".join(str(rank.rank) for rank in ranks)
    return f"rank {numbers}" if len(ranks) == 1 else f"ranks {numbers}"


def _of(job: JobEnd, outcome: RankOutcome) -> list[RankEnd]:
    return [rank for rank in job.ranks if rank.outcome is outcome]


def _error(traceback: str) -> str:
    """The line that says what happened."""
    lines = traceback.splitlines() or [""]
    errors = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    return errors[0] if errors else lines[0]
