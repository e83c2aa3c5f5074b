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
class Stored:
    """A test's baseline. All its sessions are of one commit."""

    nodeid: str
    source_hash: str
    weights: Mapping[str, float]  # of the kernels in the unit it is measured in
    sessions: tuple[Session, ...]
    steps: int | None = None
    work: Mapping[str, float] = field(default_factory=dict)
    accepted: tuple[Accepted, ...] = ()

    def __post_init__(self) -> None:
        if not self.sessions or not self.weights:
            raise ValueError(f"{self.nodeid}: a baseline needs a session and a kernel")

    @property
    def latest(self) -> Session:
        return max(self.sessions, key=lambda session: session.created)
