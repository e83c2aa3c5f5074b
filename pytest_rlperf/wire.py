"""Every message between the controller and its workers: what is sent, and how it is read back.

Messages are frozen data classes. They travel as JSON lines over a socket of their own, so that
whatever a test prints disturbs nothing. `plain` makes JSON of a data class, and `reading.typed` the
data class again, by its type hints: nobody else knows the names of the keys.
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, cast, get_args

from pytest_rlperf.model.block import SideBlock, Spending
from pytest_rlperf.model.code import CodeChanges, Ran
from pytest_rlperf.model.learning import Training
from pytest_rlperf.model.memory import Evidence, Pass, Probe
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.profile import SlicesProfile
from pytest_rlperf.reading import typed

HEAD, BASE = 0, 1
SIDES = {HEAD: "head", BASE: "base"}


# -- what a process is told when it starts --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """One side of one block: where its code lies, and which tests it collects."""

    side: int
    root: str  # pytest's root folder of this side
    cwd: str
    tree: str  # top level of this side's checkout
    head_tree: str
    import_roots: tuple[str, ...]  # folders of the tree that code is imported from
    sys_path: tuple[str, ...]  # head's; a base worker maps it to its own tree
    pytest_args: tuple[str, ...]
    options: Mapping[str, Any]  # values of options that other plugins and conftests defined
    nodeids: tuple[str, ...]
    channel_fd: int
    baton_fd: int | None
    layout_seed: int | None  # None: memory is left as it is, to be measured itself
    reference: bool = False  # plays the reference kernels instead of tests
    slowdown: float = 0.0  # share by which every slice is made longer, to prove the gate
    watched: CodeChanges | None = None  # look which of them each test meets; None: do not


@dataclass(frozen=True, slots=True)
class RankOrder:
    """What all ranks of an MPI job are told alike when they start."""

    job: Job
    folder: str  # for the files of the ranks
    nprocs: int
    timeout_s: float
    begun: float  # when it was written, in seconds since the epoch
    host: str  # of the controller
    controller: int  # its process id
    launcher: str
    socket: str | None = None  # where the controller listens; None: a plain run, nothing to say


@dataclass(frozen=True, slots=True)
class Hello:
    """The first word of a rank: who it is."""

    rank: int
    pid: int


# -- from the controller --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class WorkerKind:
    """What a worker is started with: tests that differ in it cannot share one."""

    nprocs: int
    threads: int
    alone: str = ""  # a test that wants a process for itself
    exclusive: bool = False  # other blocks would take the cores, or the caches, that it needs

    @property
    def shares_machine(self) -> bool:
        """Return whether other blocks may be played on other cores meanwhile."""
        return self.nprocs == 0 and self.threads == 1 and not self.exclusive


@dataclass(frozen=True, slots=True)
class Order:
    """One test to be run: the campaign asks for it, the block adds when and where, and the player
    in the worker obeys it.
    """

    nodeid: str
    deadline_s: float
    plan: Plan | None = None  # None: scout it, unless it is probed
    probe: Probe | None = None  # look at its memory instead of its time
    threads: int = 1
    nprocs: int = 0  # ranks of its job; 0: it needs none
    seed: int = 0
    cores: tuple[int, ...] = ()
    following: str | None = None  # the test that comes next: fixtures they share stay alive
    training: int | None = None  # train with this seed instead, and measure nothing

    @property
    def kind(self) -> WorkerKind:
        # After another test the first call would not be the first: it might be compiled already.
        alone = self.nodeid if self.plan is not None and self.plan.first_call else ""
        exclusive = self.plan is not None and (self.plan.exclusive or self.plan.cores > 1)
        return WorkerKind(self.nprocs, self.threads, alone, exclusive and not self.nprocs)


@dataclass(frozen=True, slots=True)
class Go:
    """Both sides are ready: play the slices."""


@dataclass(frozen=True, slots=True)
class StandAside:
    """The partner cannot run this test: let its body go on without slices."""


@dataclass(frozen=True, slots=True)
class Stop:
    """There are no more tests: end the session in good order."""


# -- from a worker --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Collected:
    """The session is up and has these tests."""

    nodeids: tuple[str, ...]
    at: float  # on the monotonic clock, which all processes of a machine share


@dataclass(frozen=True, slots=True)
class Uncollected:
    """A module or test that pytest could not collect."""

    nodeid: str
    text: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The test is warmed up and waits for its partner."""


@dataclass(frozen=True, slots=True)
class ScoutReport:
    """A scout's report: all that one side saw of a test at its first look."""

    seen: Scouted
    work: Mapping[str, float] = field(default_factory=dict)
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class KernelSpeeds:
    """What the scout of the reference side saw: the time of one call of each kernel."""

    unit_ns: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RankShare:
    """One rank's part of a measurement, besides its times."""

    communication: float  # share of a slice inside calls of the communicator
    peak_bytes: int
    exchange_ns: tuple[int, ...] = ()  # CPU time inside of MPI, one a slice; empty: not watched


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement of one test on one side in one block."""

    block: SideBlock
    steps: int | None = None
    kernel_ns: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # a call, by slice
    rank: RankShare | None = None  # None: it is no rank's own
    profile: SlicesProfile | None = None  # None: its slices were not watched


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """One process's report on its memory."""

    look: Pass
    repeats: int
    values: Mapping[str, float]  # by metric
    evidence: Evidence = field(default_factory=Evidence)
    call_s: float = 0.0  # the fastest call, where the pass times them


Report = ScoutReport | KernelSpeeds | Measurement | MemoryReport | Training


@dataclass(frozen=True, slots=True)
class Trouble:
    """A phase of the test failed or was skipped."""

    outcome: str  # "failed" or "skipped", as pytest has it
    text: str
    sections: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Met:
    """The imports of a watched test lead to differences, so that there was no need to run it."""

    ran: Ran


@dataclass(frozen=True, slots=True)
class Finished:
    """The test is over on this side."""

    played: bool  # it called the fixture
    abandoned: bool = False  # the partner left in the middle of the slices
    imported: Mapping[str, str] = field(default_factory=dict)  # packages of the tree, with files
    foreign: str | None = None  # why this side did not measure its own code, if it did not
    ran: Ran | None = None  # None: it was not watched
    cost: Spending = field(default_factory=Spending)


FromController = Order | Go | StandAside | Stop
FromWorker = Hello | Collected | Uncollected | Ready | Report | Trouble | Met | Finished
Message = FromController | FromWorker
KINDS: Mapping[str, type] = {kind.__name__: kind for kind in get_args(Message)}

# -- data classes as JSON -------------------------------------------------------------------------


def plain(value: object) -> Any:
    """Return data classes, tuples and mappings as what JSON can hold."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


# -- the connection -------------------------------------------------------------------------------


class ChannelClosed(Exception):
    """The other end is gone."""


def encode(message: Message) -> bytes:
    """Return a message as one line."""
    return json.dumps([type(message).__name__, plain(message)]).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message of one line; ValueError: it holds none."""
    try:
        name, data = typed(tuple[str, Any], json.loads(line))
    except RecursionError as error:
        raise ValueError(str(error)) from None
    if name not in KINDS:
        raise ValueError(f"{name!r} is no message")
    return cast(Message, typed(KINDS[name], data))


class Channel:
    """One end of a connection. `receive` blocks; `feed` takes what a selector announced."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._buffer = b""

    def fileno(self) -> int:
        return self.sock.fileno()

    def send(self, message: Message) -> None:
        try:
            self.sock.sendall(encode(message))
        except OSError as error:
            raise ChannelClosed from error

    def receive(self) -> Message:
        while b"\n" not in self._buffer:
            self._fill()
        return self._pop()

    def feed(self) -> list[Message]:
        """Read once from a socket that is ready, and return the messages that are whole."""
        self._fill()
        messages = []
        while b"\n" in self._buffer:
            messages.append(self._pop())
        return messages

    def _fill(self) -> None:
        try:
            data = self.sock.recv(1 << 16)
        except OSError as error:
            raise ChannelClosed from error
        if not data:
            raise ChannelClosed
        self._buffer += data

    def _pop(self) -> Message:
        line, self._buffer = self._buffer.split(b"\n", 1)
        return decode(line)

    def close(self) -> None:
        self.sock.close()
