"""How an MPI job ended, rank by rank."""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Where a rank is; the last one it reached is on disk."""

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
    ABSENT = "never started"


TROUBLE = frozenset({RankOutcome.FAILED, RankOutcome.EXITED, RankOutcome.KILLED, RankOutcome.STUCK})
"""What a rank did itself."""


@dataclass(frozen=True, slots=True)
class RankEnd:
    """What is known of one rank."""

    rank: int
    outcome: RankOutcome
    phase: Phase | None = None  # None: it never started
    signal: str | None = None
    status: int | None = None  # exit status, where it left by itself
    text: str = ""  # traceback, or the reason of a skip
    stacks: str = ""  # of a rank that was stuck or crashed
    output: str = ""  # the last it printed


@dataclass(frozen=True, slots=True)
class JobEnd:
    """What is known of a job that is over."""

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
        """The reason, where all ranks agree to skip."""
        every = all(rank.outcome is RankOutcome.SKIPPED for rank in self.ranks)
        return self.ranks[0].text if every and self.timeout_s is None else None
