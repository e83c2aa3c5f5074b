"""The controller's view of one side of a block: what its worker has said about a test."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.code import Ran
from pytest_rlperf.model.learning import Training
from pytest_rlperf.mpi.rank_files import JobEnd
from pytest_rlperf.wire import (
    Channel,
    ChannelClosed,
    Collected,
    Finished,
    FromController,
    KernelSpeeds,
    Measurement,
    MemoryReport,
    Message,
    Met,
    Ready,
    Report,
    ScoutReport,
    Trouble,
    Uncollected,
)


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
    MET = "met"  # not run: what it imports differs, which was all that there was to see
    WRONG_COPY = "wrong copy"  # it measured the other side's code


@dataclass(frozen=True, slots=True)
class SideRun:
    """One test on one side in one block."""

    state: State
    text: str = ""  # traceback, skip reason or the output of a crashed worker
    report: Report | None = None  # None: it ended before it had one
    imported: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[tuple[str, str], ...] = ()
    ran: Ran | None = None  # None: it was not watched
    job: JobEnd | None = None  # of a side whose worker is an MPI job that failed
    cost: Spending = field(default_factory=Spending)  # as far as its worker told


class Output(Protocol):
    """The output of a process, from the beginning of a test on."""

    def mark_output(self) -> None: ...

    def output_tail(self) -> str: ...


class Worked(Output, Protocol):
    """A worker's process, as far as a pair and its side ask of it."""

    @property
    def pid(self) -> int: ...

    @property
    def ended(self) -> bool: ...

    def end(self, grace_s: float = 0.0) -> None: ...

    def how_it_ended(self) -> str: ...

    def dump_stacks(self) -> None: ...


class Account:
    """All that one process has said so far about the current test."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._begun = time.monotonic()
        self.collected: set[str] | None = None
        self.startup_s = 0.0
        self.collect_errors: dict[str, str] = {}
        self.clear()

    def clear(self) -> None:
        """Begin with the next test."""
        self.run: SideRun | None = None
        self.ready = False
        self.report: Report | None = None
        self._trouble: SideRun | None = None
        if self.collected is not None:
            self._output.mark_output()

    def take(self, message: Message) -> None:
        """Note what a message says."""
        match message:
            case Collected(nodeids, at):
                self.collected = set(nodeids)
                self.startup_s = at - self._begun
            case Uncollected(nodeid, text):
                self.collect_errors[nodeid] = text
            case Ready():
                self.ready = True
            case ScoutReport() | KernelSpeeds() | Measurement() | MemoryReport() | Training():
                self.report = message
            case Trouble(outcome, text, sections):
                # The first report of a test is the cause; a failing teardown may follow.
                trouble = SideRun(State(outcome), text, sections=(*sections, *self._printed()))
                self._trouble = self._trouble or trouble
            case Met(ran):
                self.run = SideRun(State.MET, ran=ran)
            case Finished():
                self.run = replace(self._finished(message), cost=message.cost)

    def _printed(self) -> tuple[tuple[str, str], ...]:
        """Return what the test printed, as a section of a failure."""
        printed = self._output.output_tail()
        return (("Captured output", f"{printed}\n"),) if printed else ()

    def _finished(self, message: Finished) -> SideRun:
        if message.abandoned:
            return SideRun(State.ABANDONED)
        if self._trouble is not None:
            return replace(self._trouble, report=self.report)
        if message.foreign:
            return SideRun(State.WRONG_COPY, message.foreign)
        if not message.played:
            return SideRun(State.UNMEASURED)
        return SideRun(State.RAN, "", self.report, message.imported, ran=message.ran)


class WorkerSide(Account):
    """One worker process as a side of a duet."""

    def __init__(self, name: str, process: Worked, channel: Channel) -> None:
        self.name = name
        self.process = process
        self.channel = channel
        self.broken: SideRun | None = None
        super().__init__(process)

    def clear(self) -> None:
        super().clear()
        self.answered = False

    def listen(self) -> None:
        for message in self.channel.feed():
            self.take(message)

    def tell(self, message: FromController) -> None:
        try:
            self.channel.send(message)
        except ChannelClosed:
            self.crash()

    def crash(self) -> None:
        how = self.process.how_it_ended()
        when = "before it could run a test" if self.collected is None else "during this test"
        text = f"the {self.name} worker ended ({how}) {when}"
        tail = self.process.output_tail()
        self.run = self.broken = SideRun(State.CRASHED, f"{text}\n{tail}".strip(), self.report)

    def hang(self, seconds: float) -> None:
        self.process.dump_stacks()
        text = f"no answer from the {self.name} worker within {seconds:.0f} s"
        tail = self.process.output_tail()
        self.run = self.broken = SideRun(State.HUNG, f"{text}\n{tail}".strip())
