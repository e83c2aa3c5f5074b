"""The files of the ranks tell how each of them ended."""

import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.mpi.job import gather, read_exits
from pytest_rlperf.mpi.rank_files import (
    TAIL_BYTES,
    RankEnd,
    RankExit,
    RankFiles,
    RankOutcome,
    RankPhase,
    RankReport,
)
from tests.factories import examples

KILLED_BY_LAUNCHER = (None, signal.SIGKILL)


class Job:
    """Files of a job, as its ranks would leave them."""

    def __init__(self, folder: Path, nprocs: int) -> None:
        self._folder = str(folder)
        self._nprocs = nprocs

    def rank(
        self,
        rank: int,
        phase: RankPhase,
        report: str | None = None,
        left: tuple[int | None, int | None] | None = None,
        at: float = 0.0,
    ) -> None:
        files = RankFiles(self._folder, rank)
        files.write_phase(phase)
        if report is not None:
            files.write_report(RankReport(RankOutcome(report), f"said {rank}", "call"))
        if left is not None:
            files.write_exit(RankExit(signal=left[1], status=left[0], at=at))

    def end(self, timed_out: bool = False) -> tuple[RankEnd, ...]:
        exits = read_exits(self._folder, self._nprocs)
        return gather(self._folder, self._nprocs, exits, timed_out=timed_out)

    def outcomes(self, timed_out: bool = False) -> list[str]:
        return [rank.outcome.value for rank in self.end(timed_out)]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path, 3)


def test_ranks_that_are_done_ended_as_they_reported(job: Job):
    for rank in range(3):
        job.rank(rank, RankPhase.DONE, "passed", (0, None))
    assert job.outcomes() == ["passed"] * 3


def test_a_report_of_a_failure_counts_however_the_rank_ended(job: Job):
    job.rank(0, RankPhase.CALL, None, KILLED_BY_LAUNCHER, at=3)
    job.rank(1, RankPhase.CALL, "failed", (1, None), at=2)
    job.rank(2, RankPhase.CALL, "failed")
    assert job.outcomes() == ["stopped", "failed", "failed"]
    assert job.end()[1].text == "said 1"


def test_of_ranks_that_were_killed_the_first_is_to_blame(job: Job):
    job.rank(0, RankPhase.CALL, None, KILLED_BY_LAUNCHER, at=3)
    job.rank(1, RankPhase.CALL, None, KILLED_BY_LAUNCHER, at=2)
    job.rank(2, RankPhase.CALL)
    assert job.outcomes() == ["stopped", "killed", "stopped"]
    assert job.end()[1].signal == "SIGKILL"


def test_a_crash_is_the_ranks_own_whenever_it_was(job: Job):
    job.rank(0, RankPhase.CALL, None, (None, signal.SIGSEGV), at=2)
    job.rank(1, RankPhase.CALL, None, (None, signal.SIGABRT), at=1)
    job.rank(2, RankPhase.CALL, None, (None, signal.SIGTERM), at=3)
    assert [rank.signal for rank in job.end()] == ["SIGSEGV", "SIGABRT", None]


def test_a_rank_that_leaves_with_zero_before_the_end_has_exited(job: Job):
    job.rank(0, RankPhase.CALL, None, (0, None), at=1)
    job.rank(1, RankPhase.CALL, None, KILLED_BY_LAUNCHER, at=2)
    job.rank(2, RankPhase.CALL)
    end = job.end()
    assert end[0].outcome is RankOutcome.EXITED
    assert end[0].status == 0


def test_a_rank_that_passed_and_left_without_finalizing_has_exited(job: Job):
    job.rank(0, RankPhase.DONE, "passed", (0, None))
    job.rank(1, RankPhase.FINALIZE, "passed", (0, None))
    job.rank(2, RankPhase.DONE, "passed", (0, None))
    assert job.outcomes() == ["passed", "exited", "passed"]


def test_what_still_runs_at_the_deadline_is_stuck_even_when_its_test_is_over(job: Job):
    job.rank(0, RankPhase.FINALIZE, "passed")
    job.rank(1, RankPhase.CALL)
    job.rank(2, RankPhase.DONE, "passed")
    assert job.outcomes(timed_out=True) == ["stuck"] * 3


def test_where_nothing_is_noted_the_first_to_go_is_to_blame(job: Job, tmp_path: Path):
    for rank in range(3):
        job.rank(rank, RankPhase.CALL)
    ends = gather(str(tmp_path), 3, {}, timed_out=False, first_gone=1)
    assert [rank.outcome.value for rank in ends] == ["stopped", "killed", "stopped"]
    job.rank(2, RankPhase.CALL, None, (None, signal.SIGSEGV))
    exits = read_exits(str(tmp_path), 3)
    ends = gather(str(tmp_path), 3, exits, timed_out=False, first_gone=1)
    assert [rank.outcome.value for rank in ends] == ["stopped", "stopped", "killed"]


def test_ranks_that_lost_their_launcher_are_not_to_blame(job: Job, tmp_path: Path):
    for rank in range(3):
        job.rank(rank, RankPhase.CALL)
    exits = {rank: RankExit(signal.SIGKILL, None, rank, orphaned=True) for rank in (0, 2)}
    ends = gather(str(tmp_path), 3, exits, timed_out=False, first_gone=0)
    outcomes = [rank.outcome.value for rank in ends]
    assert outcomes == ["lost its launcher", "stopped", "lost its launcher"]


def test_a_rank_without_a_phase_never_started(job: Job):
    assert job.outcomes() == ["never started"] * 3


def test_stacks_are_those_of_the_stuck(job: Job, tmp_path: Path):
    for rank in range(3):
        job.rank(rank, RankPhase.CALL)
        (tmp_path / f"rank{rank}.stacks").write_text(f"stack {rank}")
    assert [rank.stacks for rank in job.end(timed_out=True)] == ["stack 0", "stack 1", "stack 2"]
    assert [rank.stacks for rank in job.end()] == ["", "", ""]


def test_of_much_output_the_end_is_kept(job: Job, tmp_path: Path):
    job.rank(0, RankPhase.CALL)
    (tmp_path / "rank0.out").write_bytes(b"\xff" * 2**20 + b"last")
    shown = job.end()[0].output
    assert shown.endswith("last")
    assert len(shown) <= TAIL_BYTES


def test_a_file_that_is_half_written_is_none(tmp_path: Path):
    (tmp_path / "rank0.json").write_text('{"outcome": "pas')
    assert RankFiles(str(tmp_path), 0).report() is None


def test_the_first_report_of_a_rank_stays(tmp_path: Path):
    files = RankFiles(str(tmp_path), 0)
    for outcome in (RankOutcome.FAILED, RankOutcome.PASSED):
        files.write_report(RankReport(outcome))
    assert files.report() == RankReport(RankOutcome.FAILED)


ENDS = st.tuples(
    st.sampled_from(list(RankPhase)),
    st.sampled_from([None, "passed", "failed", "skipped"]),
    st.sampled_from([None, (0, None), (1, None), (None, 9), (None, 11), (None, 15)]),
    st.floats(0, 10),
)


@examples
@given(ends=st.lists(ENDS, min_size=1, max_size=4), timed_out=st.booleans())
def test_a_job_in_which_anything_went_wrong_names_a_culprit(
    tmp_path_factory: pytest.TempPathFactory, ends: list[Any], timed_out: bool
):
    job = Job(tmp_path_factory.mktemp("job"), len(ends))
    for rank, end in enumerate(ends):
        job.rank(rank, *end)
    found = set(job.outcomes(timed_out))
    left = any(end[2] is not None and end[0] is not RankPhase.DONE for end in ends)
    if left or any(end[1] == "failed" for end in ends):
        assert found & {"failed", "exited", "killed"}
