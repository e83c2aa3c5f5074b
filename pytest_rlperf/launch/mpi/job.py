"""The life of an MPI job: started, waited for until its deadline, ended to the last process."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.launch.mpi.environment import JOB, job_environment
from pytest_rlperf.launch.mpi.gather import gather, read_exits
from pytest_rlperf.launch.mpi.launcher import Launcher, job_argv
from pytest_rlperf.launch.mpi.rank_files import RankFiles
from pytest_rlperf.launch.process import Process, end_marked
from pytest_rlperf.model.ranks import JobEnd

TERM_S = 3.0
"""For a launcher to end its ranks in good order."""


@dataclass(frozen=True, slots=True)
class JobOrder:
    """What to start."""

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
        self._order = order
        self._argv = job_argv(order.launcher, order.nprocs, order.command)
        self._begun = time.monotonic()
        self._over = False
        self.left: tuple[int, ...] = ()  # processes that would not end
        self.process = Process(
            self._argv,
            env=job_environment(order.env, self.token),
            cwd=order.cwd,
            cores=cores,
            fds=(),
            log=order.folder / "launcher.log",
        )

    @property
    def pid(self) -> int:
        """The launcher's."""
        return self.process.pid

    @property
    def command(self) -> tuple[str, ...]:
        return tuple(self._argv)

    @property
    def ended(self) -> bool:
        return self.process.ended

    @property
    def folder(self) -> Path:
        return self._order.folder

    def files(self) -> list[RankFiles]:
        return [RankFiles(str(self.folder), rank) for rank in range(self._order.nprocs)]

    def run(self, timeout_s: float) -> JobEnd:
        """Wait for the job until its time is up, then end what is left of it."""
        in_time = self.process.wait(timeout_s)
        return self.finish(None if in_time else timeout_s)

    def finish(self, timeout_s: float | None = None) -> JobEnd:
        """End the job, and tell what its ranks did until now; `timeout_s`: it is too late."""
        nprocs, folder = self._order.nprocs, str(self.folder)
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
        """Those told to stop get some time for it. A second call does nothing."""
        if self._over:
            return
        if not self.process.wait(grace_s):
            self.process.terminate()
        self.process.end(TERM_S)
        self._over = True
        self.left = tuple(end_marked(self.token, JOB))
