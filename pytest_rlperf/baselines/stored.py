"""What is stored of a test, to compare with later: ratios to the reference kernels, not seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_rlperf.model.block import LogRatios


@dataclass(frozen=True, slots=True)
class Session:
    """One run that was saved."""

    created: str
    commit: str | None
    dirty: bool
    facts: Mapping[str, Any]  # of machine and libraries; see `launch.fingerprint.comparable`
    call_ns: float  # seconds of that machine in that hour: shown, not compared
    blocks: tuple[Mapping[str, LogRatios], ...]  # by kernel


@dataclass(frozen=True, slots=True)
class Accepted:
    """A regression that was taken over into the baseline, and why."""

    reason: str
    created: str
    commit: str | None
    change: float


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """Sizes as they were, in bytes: no other work on a machine changes them."""

    created: str
    commit: str | None
    dirty: bool
    facts: Mapping[str, Any]
    repeats: int  # calls a process
    values: Mapping[str, tuple[float, ...]]  # by metric, one a process


@dataclass(frozen=True, slots=True)
class Stored:
    """A test's baseline. All its sessions are of one commit; a test of memory alone has none."""

    nodeid: str
    source_hash: str
    weights: Mapping[str, float]  # of the kernels that its save chose; a run may speak for others
    sessions: tuple[Session, ...]
    steps: int | None = None
    work: Mapping[str, float] = field(default_factory=dict)
    accepted: tuple[Accepted, ...] = ()
    memory: StoredMemory | None = None
    starts: Mapping[str, "Stored"] = field(default_factory=dict)  # of a fresh process, by metric

    def __post_init__(self) -> None:
        if bool(self.sessions) != bool(self.weights) or not (self.sessions or self.memory):
            raise ValueError(f"{self.nodeid}: a baseline needs a session and a kernel, or memory")

    @property
    def latest(self) -> Session | None:
        """None: its time is not stored."""
        return max(self.sessions, key=lambda session: session.created, default=None)

    @property
    def newest(self) -> Session | StoredMemory:
        """Under whose facts it was recorded."""
        newest = self.latest or self.memory
        assert newest is not None
        return newest
