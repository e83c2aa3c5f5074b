"""The life of an MPI job: started, waited for until its deadline, ended to the last process; and
from what its ranks left on disk to how each of them ended.
"""

import secrets
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.mpi.launcher import JOB, Launcher, job_argv, job_environment
from pytest_rlperf.mpi.rank_files import (
    JobEnd,
    RankEnd,
    RankExit,
    RankFiles,
    RankOutcome,
    RankPhase,
    RankReport,
)
from pytest_rlperf.workers.process import Process, end_marked

TERM_S = 3.0
"""The time that a launcher gets to end its ranks in good order."""


@dataclass(frozen=True, slots=True)
class JobOrder:
    """A job to start: the program, and where and how it runs."""

    launcher: Launcher
    nprocs: int
    command: tuple[str, ...]  # of one rank
    folder: Path  # of this job alone
    cwd: str
    env: Mapping[str, str]


class MpiJob:
    """A launcher with its ranks. `end` leaves no process of it, whatever state it is in."""

    def __init__(self, order: JobOrder, *, cores: Sequence[int] = ()) -> None:
        self.token = secrets.token_hex(8)
        self.folder = order.folder
        self.command = tuple(job_argv(order.launcher, order.nprocs, order.command))
        self._nprocs = order.nprocs
        self._begun = time.monotonic()
        self._over = False
        self.left: tuple[int, ...] = ()  # processes that would not end
        self.process = Process(
            self.command,
            env=job_environment(order.env, self.token),
            cwd=order.cwd,
            cores=cores,
            fds=(),
            log=order.folder / "launcher.log",
        )

    @property
    def pid(self) -> int:
        """The process id of the launcher."""
        return self.process.pid

    @property
    def ended(self) -> bool:
        return self.process.ended

    def files(self) -> list[RankFiles]:
        return [RankFiles(str(self.folder), rank) for rank in range(self._nprocs)]

    def run(self, timeout_s: float) -> JobEnd:
        """Wait for the job until its time is up, then end what is left of it."""
        in_time = self.process.wait(timeout_s)
        return self.finish(None if in_time else timeout_s)

    def finish(self, timeout_s: float | None = None) -> JobEnd:
        """End the job, and return what its ranks did until now; with `timeout_s` it is too late."""
        nprocs, folder = self._nprocs, str(self.folder)
        exits = read_exits(folder, nprocs)
        ranks = gather(folder, nprocs, exits, timed_out=timeout_s is not None)
        seconds = time.monotonic() - self._begun
        self.end()
        return JobEnd(
            ranks=ranks,
            command=self.command,
            seconds=seconds,
            timeout_s=timeout_s,
            status=self.process.status or 0,
            launcher_output=self.process.output_tail(),
            left=self.left,
        )

    def end(self, grace_s: float = 0.0) -> None:
        """End the job once; ranks that were told to stop get some time for it."""
        if self._over:
            return
        if not self.process.wait(grace_s):
            self.process.terminate()
        self.process.end(TERM_S)
        self._over = True
        self.left = tuple(end_marked(self.token, JOB))


# -- how each rank ended -------------------------------------------------------------------------

LAUNCHERS_SIGNALS = frozenset({signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGCONT})
"""Signals that a launcher ends the other ranks with when one is lost."""


def read_exits(folder: str, nprocs: int) -> dict[int, RankExit]:
    """Return how the processes of ranks ended, of those that have so far."""
    exits = {rank: RankFiles(folder, rank).exit() for rank in range(nprocs)}
    return {rank: exit_ for rank, exit_ in exits.items() if exit_ is not None}


def gather(
    folder: str, nprocs: int, exits: Mapping[int, RankExit], *, timed_out: bool
) -> tuple[RankEnd, ...]:
    """Return how each rank ended; `exits` are from before anybody ended the job from outside."""
    files = [RankFiles(folder, rank) for rank in range(nprocs)]
    causes = _causes(files, exits)
    return tuple(_end(each, exits.get(each.rank), causes, timed_out) for each in files)


def _causes(files: Sequence[RankFiles], exits: Mapping[int, RankExit]) -> frozenset[int]:
    """Return the ranks that went wrong by themselves: those that failed or crashed; where none
    failed, the one that left first too. All others left because of them.
    """
    failed = {each.rank for each in files if _has_failed(each.report())}
    unfinished = {each.rank for each in files if each.phase() != RankPhase.DONE} - failed
    early = {rank: exit_ for rank, exit_ in exits.items() if rank in unfinished}
    signals = {rank: exit_.signal for rank, exit_ in early.items() if exit_.signal}
    crashed = {rank for rank, number in signals.items() if number not in LAUNCHERS_SIGNALS}
    first = min(early, key=lambda rank: early[rank].at, default=None)
    return frozenset(failed | crashed | (set() if failed or first is None else {first}))


def _has_failed(report: RankReport | None) -> bool:
    return report is not None and report.outcome is RankOutcome.FAILED


def _end(
    files: RankFiles, exit_: RankExit | None, causes: frozenset[int], timed_out: bool
) -> RankEnd:
    report = files.report()
    phase = _phase(files)
    outcome = _outcome(report, phase, exit_, files.rank in causes, timed_out)
    shows_stacks = outcome in (RankOutcome.STUCK, RankOutcome.KILLED)
    left = exit_ if outcome in (RankOutcome.KILLED, RankOutcome.EXITED) else None
    return RankEnd(
        rank=files.rank,
        outcome=outcome,
        phase=phase,
        signal=_signal_name(left.signal) if left else None,
        status=left.status if left else None,
        text=report.text if report else "",
        stacks=files.stacks() if shows_stacks else "",
        output=files.output(),
    )


def _outcome(
    report: RankReport | None,
    phase: RankPhase | None,
    exit_: RankExit | None,
    cause: bool,
    timed_out: bool,
) -> RankOutcome:
    if phase is None:
        return RankOutcome.ABSENT
    if _has_failed(report):
        return RankOutcome.FAILED
    if exit_ is None:
        return RankOutcome.STUCK if timed_out else RankOutcome.STOPPED
    if report is not None and phase is RankPhase.DONE:
        return report.outcome
    if not cause:
        return RankOutcome.STOPPED
    return RankOutcome.KILLED if exit_.signal else RankOutcome.EXITED


def _phase(files: RankFiles) -> RankPhase | None:
    with suppress(ValueError):
        return RankPhase(files.phase() or "")
    return None


def _signal_name(number: int | None) -> str | None:
    if not number:
        return None
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
