"""Settings and results of a duet of commands."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.duet.command_line import DuetCommand, DuetCommands
from pytest_rlperf.errors import ExitCode
from pytest_rlperf.model.metric import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class DuetSettings:
    """What is compared, and how."""

    commands: DuetCommands  # each is judged against the first
    threshold: float
    budget_s: float
    prepare: DuetCommand | None = None
    warmup: int = 0
    input: Path | None = None  # None: nothing to read
    waits: bool = False  # judged by the clock, one run after the other
    ignore_failure: bool = False
    show_output: bool = False


@dataclass(frozen=True, slots=True)
class AloneRun:
    """A run of a command with the machine to itself, before the duet."""

    wall_ns: float
    cpu_ns: float
    peak_bytes: int  # all processes that lived at once
    measured: bool = True  # False: it was too short, and took no more than this


@dataclass(frozen=True, slots=True)
class CommandResult:
    """One command in all its runs."""

    text: str
    alone: tuple[AloneRun, ...]
    times_ns: tuple[float, ...] = ()  # of the runs that were judged: CPU time, or by the clock
    system_ns: tuple[float, ...] = ()  # CPU time of the same runs in the kernel
    statuses: Mapping[int, int] | None = None  # how many runs ended with what, other than 0
    left: int = 0  # processes that outlived their run, and were ended

    @property
    def time_ns(self) -> float | None:
        return statistics.median(self.times_ns) if self.times_ns else None

    @property
    def alone_ns(self) -> float:
        return statistics.median(run.wall_ns for run in self.alone)

    @property
    def peak_bytes(self) -> float:
        return statistics.median(run.peak_bytes for run in self.alone)

    @property
    def peak_is_known(self) -> bool:
        return all(run.measured for run in self.alone)

    @property
    def busy_cores(self) -> float:
        """Return the CPU time over the time by the clock. Other work on the machine makes it less,
        so the run that had most counts.
        """
        return max(run.cpu_ns / max(1.0, run.wall_ns) for run in self.alone)


@dataclass(frozen=True, slots=True)
class CommandVerdict:
    """One command against the first."""

    command: int  # its place among the commands
    verdict: Verdict
    pairs: int
    changes: tuple[float, ...] = ()  # of each block


@dataclass(frozen=True, slots=True)
class DuetResult:
    """All that is known when a duet of commands is over."""

    settings: DuetSettings
    commands: tuple[CommandResult, ...]
    verdicts: tuple[CommandVerdict, ...]
    cores: Sequence[int]  # that were played on; none: this platform cannot pin
    seconds: float
    interrupted: bool = False

    @property
    def exit_code(self) -> ExitCode:
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if any(each.verdict.outcome is Outcome.REGRESSED for each in self.verdicts):
            return ExitCode.FAILED
        if not any(each.verdict.interval for each in self.verdicts):
            return ExitCode.NOTHING_COMPARED
        return ExitCode.FINE
