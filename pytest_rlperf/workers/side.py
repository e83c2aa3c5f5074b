"""The controller's view of one side of a block: what its worker has said about a test."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

from pytest_rlperf.model.memory import Probe
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.mpi.rank_files import JobEnd
from pytest_rlperf.wire import ChannelClosed, Message


class State(StrEnum):
    """How a test ended on one side."""

    RAN = "ran"  # to its end; measured, scouted, or stood aside for a partner that could not
    FAILED = "failed"
    SKIPPED = "skipped"
    CRASHED = "crashed"
    HUNG = "hung"
    UNCOLLECTED = "uncollected"
    UNMEASURED = "unmeasured"  # it never called the fixture
    ABANDONED = "abandoned"  # the partner left in the middle of the slices
    WRONG_COPY = "wrong copy"  # it measured the other side's code


@dataclass(frozen=True, slots=True)
class SideRun:
    """One test on one side in one block."""

    state: State
    text: str = ""  # traceback, skip reason or the output of a crashed worker
    facts: Mapping[str, Any] | None = None  # what `scouted`, `measured` or `probed` carried
    imported: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[tuple[str, str], ...] = ()
    job: JobEnd | None = None  # of a side whose worker is an MPI job that failed


@dataclass(frozen=True, slots=True)
class Turn:
    """One test to run now."""

    nodeid: str
    following: str | None
    plan: Plan | None
    cores: tuple[int, ...]
    seed: int
    deadline_s: float
    probe: Probe | None = None  # look at its memory instead

    def as_message(self) -> Message:
        return {
            "do": "run",
            "nodeid": self.nodeid,
            "next": self.following,
            "plan": None if self.plan is None else self.plan.as_dict(),
            "cores": list(self.cores),
            "seed": self.seed,
            "deadline_s": self.deadline_s,
            "probe": None if self.probe is None else self.probe.as_dict(),
        }


class Ends(Protocol):
    """A process, or a job of several."""

    @property
    def pid(self) -> int:
        """Of the process that all others of it descend from."""
        ...

    @property
    def ended(self) -> bool: ...

    def end(self, grace_s: float = 0.0) -> None: ...


class Worked(Ends, Protocol):
    """A worker's process, as far as a side asks of it."""

    def how_it_ended(self) -> str: ...

    def mark_output(self) -> None: ...

    def output_tail(self) -> str: ...

    def dump_stacks(self) -> None: ...


class Connection(Protocol):
    """With a worker, or with all ranks of a job."""

    def fileno(self) -> int: ...

    def send(self, message: Message) -> None: ...

    def feed(self) -> list[Message]: ...

    def close(self) -> None: ...


class DuetSide(Protocol):
    """What a pair asks of its sides."""

    name: str
    told: bool  # that the slices begin, or that they do not
    broken: SideRun | None  # why it can run no further test

    @property
    def process(self) -> Ends: ...

    @property
    def channel(self) -> Connection: ...

    @property
    def collected(self) -> set[str] | None: ...

    @property
    def collect_errors(self) -> Mapping[str, str]: ...

    @property
    def startup_s(self) -> float: ...

    @property
    def ready(self) -> bool: ...

    @property
    def run(self) -> SideRun | None: ...

    @run.setter
    def run(self, run: SideRun) -> None: ...

    def clear(self) -> None: ...

    def take(self, message: Message) -> None: ...

    def tell(self, message: Message) -> None: ...

    def crash(self) -> None: ...

    def hang(self, seconds: float) -> None: ...


class WorkerSide:
    """One worker with what it has said so far about the current test."""

    def __init__(self, name: str, process: Worked, channel: Connection) -> None:
        self.name = name
        self.process = process
        self.channel = channel
        self.begun = time.monotonic()
        self.collected: set[str] | None = None
        self.startup_s = 0.0
        self.collect_errors: dict[str, str] = {}
        self.broken: SideRun | None = None
        self.clear()

    def clear(self) -> None:
        self.run: SideRun | None = None
        self.ready = self.told = False
        self._facts: Mapping[str, Any] | None = None
        self._trouble: SideRun | None = None
        if self.collected is not None:
            self.process.mark_output()

    def tell(self, message: Message) -> None:
        try:
            self.channel.send(message)
        except ChannelClosed:
            self.crash()

    def crash(self) -> None:
        how = self.process.how_it_ended()
        when = "before it could run a test" if self.collected is None else "during this test"
        text = f"the {self.name} worker ended ({how}) {when}"
        tail = self.process.output_tail()
        self.run = self.broken = SideRun(State.CRASHED, f"{text}\n{tail}".strip(), self._facts)

    def hang(self, seconds: float) -> None:
        self.process.dump_stacks()
        text = f"no answer from the {self.name} worker within {seconds:.0f} s"
        tail = self.process.output_tail()
        self.run = self.broken = SideRun(State.HUNG, f"{text}\n{tail}".strip())

    def take(self, message: Message) -> None:
        match message["event"]:
            case "collected":
                self.collected = set(message["nodeids"])
                self.startup_s = message["at"] - self.begun
            case "uncollected":
                self.collect_errors[message["nodeid"]] = message["text"]
            case "ready":
                self.ready = True
            case "scouted" | "measured" | "probed":
                self._facts = message
            case "failed" | "skipped" as event:
                # The first report of a test is the cause; a failing teardown may follow.
                self._trouble = self._trouble or SideRun(
                    State(event),
                    message["text"],
                    sections=self._sections(message["sections"]),
                )
            case "ended":
                self.run = self._ended(message)

    def _sections(self, reported: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
        printed = self.process.output_tail()
        own = (("Captured output", f"{printed}\n"),) if printed else ()
        return (*((str(title), str(text)) for title, text in reported), *own)

    def _ended(self, message: Message) -> SideRun:
        if message["abandoned"]:
            return SideRun(State.ABANDONED)
        if self._trouble is not None:
            return replace(self._trouble, facts=self._facts)
        if message["foreign"]:
            return SideRun(State.WRONG_COPY, message["foreign"])
        if not message["played"]:
            return SideRun(State.UNMEASURED)
        return SideRun(State.RAN, "", self._facts, message["imported"])
