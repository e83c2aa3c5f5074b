"""The life of an MPI job: started, waited for until its deadline, ended to the last process; and
from what its ranks left on disk to how each of them ended.
"""

import os
import secrets
import select
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.leaving import shared_by_ranks, unname
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
from pytest_rlperf.workers.process import Process, end_marked, marked

LOOK_S = 0.1
"""The time between two looks for ranks that have come up, and whether the launcher has ended."""
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
        self._deaths = Deaths(self.files())
        self.process = Process(
            self.command,
            env=job_environment(order.env, self.token, order.folder),
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
        in_time = self.await_end(timeout_s)
        return self.finish(None if in_time else timeout_s)

    def await_end(self, seconds: float) -> bool:
        """Wait for the end of the launcher, and tell whether it came within that time."""
        until = time.monotonic() + seconds
        while not self.process.ended and (left_s := until - time.monotonic()) > 0:
            wait = self._deaths.wait if self._deaths.awaited else self.process.wait
            wait(min(left_s, LOOK_S))
        return self.process.ended

    def finish(self, timeout_s: float | None = None) -> JobEnd:
        """End the job, and return what its ranks did until now; with `timeout_s` it is too late."""
        nprocs, folder = self._nprocs, str(self.folder)
        if self._deaths.awaited:
            self._deaths.wait(0.0)
        exits = read_exits(folder, nprocs)
        gone = self._deaths.first
        ranks = gather(folder, nprocs, exits, timed_out=timeout_s is not None, first_gone=gone)
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
        shared: set[Path] = set()
        if not self.process.wait(grace_s):
            shared = shared_by_ranks(p.pid for p in marked(self.token, JOB))  # not all up yet
            self.process.terminate()
        self.process.end(TERM_S)
        self._over = True
        self.left = tuple(end_marked(self.token, JOB))
        unname(shared)
        self._deaths.close()


class Deaths:
    """Notes which rank was the first to go: launchers name the process of another one, too."""

    def __init__(self, files: Sequence[RankFiles]) -> None:
        self._files = {each.rank: each for each in files}
        self._living: dict[int, int] = {}  # rank by the descriptor of its process
        self.first: int | None = None  # None: nobody went, or several went at once
        self._none_went = True

    @property
    def awaited(self) -> bool:
        """Return whether there are processes of ranks whose end is not known."""
        self._watch_those_that_came_up()
        return bool(self._living)

    def wait(self, seconds: float) -> None:
        """Wait until one of them ends, but no longer."""
        gone, _, _ = select.select(list(self._living), [], [], seconds)
        ranks = [self._living.pop(handle) for handle in gone]
        for handle in gone:
            os.close(handle)
        if ranks and self._none_went:
            self._none_went = False
            self.first = ranks[0] if len(ranks) == 1 else None

    def _watch_those_that_came_up(self) -> None:
        if not hasattr(os, "pidfd_open"):
            return
        for rank, files in list(self._files.items()):
            if (pid := files.pid()) is not None:
                del self._files[rank]
                with suppress(OSError):  # it has ended and left a note of how
                    self._living[os.pidfd_open(pid)] = rank

    def close(self) -> None:
        while self._living:
            os.close(self._living.popitem()[0])


# -- how each rank ended -------------------------------------------------------------------------

LAUNCHERS_SIGNALS = frozenset({signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGCONT})
"""Signals that a launcher ends the other ranks with when one is lost."""


def read_exits(folder: str, nprocs: int) -> dict[int, RankExit]:
    """Return how the processes of ranks ended, of those that have so far."""
    exits = {rank: RankFiles(folder, rank).exit() for rank in range(nprocs)}
    return {rank: exit_ for rank, exit_ in exits.items() if exit_ is not None}


def gather(
    folder: str,
    nprocs: int,
    exits: Mapping[int, RankExit],
    *,
    timed_out: bool,
    first_gone: int | None = None,
) -> tuple[RankEnd, ...]:
    """Return how each rank ended; `exits` are from before anybody ended the job from outside.
    `first_gone` is to blame where none left a note: whatever noted it was killed too.
    """
    files = [RankFiles(folder, rank) for rank in range(nprocs)]
    causes = _causes(files, exits)
    if not causes and not exits and first_gone is not None:
        causes = frozenset({first_gone})
    return tuple(_end(each, exits.get(each.rank), causes, timed_out) for each in files)


def _causes(files: Sequence[RankFiles], exits: Mapping[int, RankExit]) -> frozenset[int]:
    """Return the ranks that went wrong by themselves: those that failed or crashed; where none
    failed, the one that left first too. All others left because of them.
    """
    failed = {each.rank for each in files if _has_failed(each.report())}
    unfinished = {each.rank for each in files if each.phase() != RankPhase.DONE} - failed
    own = {rank: exit_ for rank, exit_ in exits.items() if not exit_.orphaned}
    early = {rank: exit_ for rank, exit_ in own.items() if rank in unfinished}
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
    if exit_ is None and cause:
        return RankOutcome.KILLED
    if exit_ is None:
        return RankOutcome.STUCK if timed_out else RankOutcome.STOPPED
    if exit_.orphaned:
        return RankOutcome.ORPHANED
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
