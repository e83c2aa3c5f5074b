"""How the ranks of an MPI job ended, and the files in which each of them leaves that.

The files are the truth about a rank, since launchers' exit codes are not. Used inside ranks, so it
imports next to nothing.
"""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class RankPhase(StrEnum):
    """The phase that a rank is in; the last one it reached is on disk."""

    START = "start"
    INIT = "init"  # MPI_Init
    COLLECT = "collect"
    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"
    FINALIZE = "finalize"  # its test is over, MPI_Finalize is not
    DONE = "done"


class RankOutcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"  # with a report of its own
    SKIPPED = "skipped"
    EXITED = "exited"  # left before the end, in good order or not
    KILLED = "killed"  # by a signal
    STUCK = "stuck"  # still running when the time was up
    STOPPED = "stopped"  # by the launcher, because of another rank
    ORPHANED = "lost its launcher"
    ABSENT = "never started"


TROUBLE = frozenset({RankOutcome.FAILED, RankOutcome.EXITED, RankOutcome.KILLED, RankOutcome.STUCK})
"""Outcomes that a rank brought about itself."""


@dataclass(frozen=True, slots=True)
class RankEnd:
    """How one rank ended, as far as it is known."""

    rank: int
    outcome: RankOutcome
    phase: RankPhase | None = None  # None: it never started
    signal: str | None = None
    status: int | None = None  # exit status, where it left by itself
    text: str = ""  # traceback, or the reason of a skip
    stacks: str = ""  # of a rank that was stuck or crashed
    output: str = ""  # the last it printed


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ended, as far as it is known."""

    ranks: tuple[RankEnd, ...]
    command: tuple[str, ...]  # the launcher's
    seconds: float
    timeout_s: float | None = None  # None: it ended by itself
    status: int = 0  # the launcher's exit status: a hint, which no two launchers share
    launcher_output: str = ""
    left: tuple[int, ...] = ()  # processes that could not be ended

    @property
    def passed(self) -> bool:
        every = all(rank.outcome is RankOutcome.PASSED for rank in self.ranks)
        return every and self.timeout_s is None and self.status == 0 and not self.left

    @property
    def skipped(self) -> str | None:
        """Return the reason of a skip, where all ranks agree to it."""
        every = all(rank.outcome is RankOutcome.SKIPPED for rank in self.ranks)
        return self.ranks[0].text if every and self.timeout_s is None else None


def cause_of(job: JobEnd) -> str:
    """Say in one line why a job failed."""
    failed = _with_outcome(job, RankOutcome.FAILED)
    if failed:
        return f"{names_of(failed)} failed: {_error(failed[0].text)}"
    if crashed := _with_outcome(job, RankOutcome.KILLED):
        how = "ended by " + crashed[0].signal if crashed[0].signal else "was killed"
        return f"{names_of(crashed)} {how} during {crashed[0].phase}"
    if left := _with_outcome(job, RankOutcome.EXITED):
        return f"{names_of(left)} exited with status {left[0].status} during {left[0].phase}"
    if stuck := _with_outcome(job, RankOutcome.STUCK):
        return f"{names_of(stuck)} did not end within {job.timeout_s:g} s"
    if orphans := _with_outcome(job, RankOutcome.ORPHANED):
        return f"the launcher's process above {names_of(orphans)} was gone"
    if some := _with_outcome(job, RankOutcome.SKIPPED):
        return f"{names_of(some)} skipped the test, and the others did not"
    return f"the launcher ended with status {job.status}"


def names_of(ranks: Sequence[RankEnd]) -> str:
    numbers = ", ".join(str(rank.rank) for rank in ranks)
    return f"rank {numbers}" if len(ranks) == 1 else f"ranks {numbers}"


def _with_outcome(job: JobEnd, outcome: RankOutcome) -> list[RankEnd]:
    return [rank for rank in job.ranks if rank.outcome is outcome]


def _error(traceback: str) -> str:
    """Return the line that says what happened."""
    lines = traceback.splitlines() or [""]
    errors = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    return errors[0] if errors else lines[0]


# -- what one rank leaves on disk ----------------------------------------------------------------

TAIL_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class RankReport:
    """The outcome of a test as the rank itself reports it."""

    outcome: RankOutcome
    text: str = ""  # traceback, or the reason of a skip
    when: str = ""  # in which part of the test, for who reads the file


@dataclass(frozen=True, slots=True)
class RankExit:
    """How the process of a rank ended: by a signal, or else with a status."""

    signal: int | None
    status: int | None
    at: float  # seconds since the epoch
    orphaned: bool = False  # ended since the launcher, or whoever asked for the job, was gone


@dataclass(frozen=True)
class RankFiles:
    """The files of one rank in the folder of its job, written whole and then renamed."""

    folder: str
    rank: int

    def path(self, ending: str) -> Path:
        return Path(self.folder, f"rank{self.rank}.{ending}")

    def write_phase(self, phase: str) -> None:
        self._write("phase", phase)

    def write_pid(self) -> None:
        self._write("pid", json.dumps([socket.gethostname(), os.getpid()]))

    def write_report(self, report: RankReport) -> None:
        """Write the first report of a test, which is the cause; a failing teardown may follow."""
        if not self.path("json").exists():
            self._write("json", json.dumps(asdict(report)))

    def write_exit(self, exit_: RankExit) -> None:
        self._write("exit", json.dumps(asdict(exit_)))

    def phase(self) -> str | None:
        with suppress(OSError):
            return self.path("phase").read_text(encoding="utf-8")
        return None

    def pid(self) -> int | None:
        """Return the id of the rank's process; None: it has none yet, or is on another machine."""
        host, pid = self._read("pid") or (None, None)
        return pid if host == socket.gethostname() else None

    def report(self) -> RankReport | None:
        report = self._read("json")
        return report and RankReport(RankOutcome(report["outcome"]), report["text"], report["when"])

    def exit(self) -> RankExit | None:
        exit_ = self._read("exit")
        return exit_ and RankExit(**exit_)

    def stacks(self) -> str:
        return self._tail("stacks")

    def output(self) -> str:
        return "\n".join(filter(None, (self._tail("out"), self._tail("err"))))

    def _write(self, ending: str, text: str) -> None:
        target = self.path(ending)
        draft = target.with_name(f"{target.name}.{os.getpid()}")
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, target)

    def _read(self, ending: str) -> Any:
        with suppress(OSError, ValueError):
            return json.loads(self.path(ending).read_text(encoding="utf-8"))
        return None

    def _tail(self, ending: str) -> str:
        with suppress(OSError), self.path(ending).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read().decode(errors="replace").strip()
        return ""


RANK_NAMES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID")


def rank_of(env: Mapping[str, str]) -> int | None:
    """Return this process's rank as its launcher says; None: it says nothing that is known here."""
    return next((int(env[name]) for name in RANK_NAMES if name in env), None)
