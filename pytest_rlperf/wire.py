"""JSON lines over a socket: what the controller and a worker say to each other.

Apart from stdin and stdout, so that whatever a test prints disturbs nothing.
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from pytest_rlperf.model.memory import Probe
from pytest_rlperf.model.plan import Plan

Message = dict[str, Any]


class ChannelClosed(Exception):
    """The other end is gone."""


class Channel:
    """One end of a connection. `receive` blocks; `feed` takes what a selector announced."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._buffer = b""

    def fileno(self) -> int:
        return self.sock.fileno()

    def send(self, message: Message) -> None:
        try:
            self.sock.sendall(json.dumps(message).encode() + b"\n")
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
        message: Message = json.loads(line)
        return message

    def close(self) -> None:
        self.sock.close()


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the controller wants of one test in one block."""

    nodeid: str
    plan: Plan | None  # None: scout
    seed: int
    deadline_s: float
    cores: tuple[int, ...]
    probe: Probe | None = None  # look at its memory instead


HEAD, BASE = 0, 1


SIDES = {HEAD: "head", BASE: "base"}


@dataclass(frozen=True, slots=True)
class Job:
    """One side of one block. Everything is plain data: it travels as JSON."""

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

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = dict(data)
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = tuple(value)
        return cls(**values)


@dataclass(frozen=True, slots=True)
class RankOrder:
    """Equal for all ranks of a job. Everything is plain data: it travels as JSON."""

    job: Job
    folder: str  # for the files of the ranks
    nprocs: int
    timeout_s: float
    begun: float  # when it was written, in seconds since the epoch
    host: str  # of the controller
    controller: int  # its process id
    launcher: str
    socket: str | None = None  # where the controller listens; None: a plain run, nothing to say

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "job": Job.from_dict(data["job"])})
