"""Connections of the ranks of a job with the controller, outside of MPI.

A rank that waits for its turn blocks on a socket: inside MPI it would spin, and take its core
from the side whose turn it is.
"""

import selectors
import socket
from collections.abc import Sequence
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.wire import Channel, ChannelClosed, FromController, Hello, Message, encode

LONGEST_PATH = 100
"""Bytes that the address of a local socket may have, and some to spare."""
HELLO_S = 10.0
WITH_BATON, ALONE = b"b", b"-"


class RankChannels:
    """The controller's end: one connection with each rank, which are told all things alike."""

    def __init__(self, path: Path, batons: Sequence[socket.socket | None]) -> None:
        if len(str(path)) > LONGEST_PATH:
            raise UsageError(
                f"{path.parent} is too long a path for the sockets of MPI ranks; set TMPDIR to a "
                "shorter one."
            )
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(len(batons))
        self._batons = [None if baton is None else baton.dup() for baton in batons]
        self._ranks: dict[int, Channel] = {}
        self.pids: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)

    def fileno(self) -> int:
        """Return that of the selector, which is ready when any of its sockets is."""
        return self._selector.fileno()

    def send(self, message: FromController) -> None:
        for channel in self._ranks.values():
            channel.send(message)

    def feed(self) -> list[tuple[int, Message]]:
        """Return the messages that are whole, each with the rank that sent it."""
        messages = []
        for key, _ in self._selector.select(0):
            if key.fileobj is self._listener:
                self._welcome()
            else:
                messages += [(key.data, message) for message in self._ranks[key.data].feed()]
        return messages

    def _welcome(self) -> None:
        """Hear who a rank is, and hand it its end of the socket to its partner."""
        sock, _ = self._listener.accept()
        sock.settimeout(HELLO_S)
        channel = Channel(sock)
        hello = channel.receive()
        if not isinstance(hello, Hello):
            raise ValueError(f"a rank began with {hello}")
        rank = hello.rank
        baton, self._batons[rank] = self._batons[rank], None
        if baton is None:
            sock.sendall(ALONE)
        else:
            socket.send_fds(sock, [WITH_BATON], [baton.fileno()])
            baton.close()
        sock.settimeout(None)
        self._ranks[rank], self.pids[rank] = channel, hello.pid
        self._selector.register(channel, selectors.EVENT_READ, rank)

    def close(self) -> None:
        self._selector.close()
        self._listener.close()
        for channel in self._ranks.values():
            channel.close()
        for baton in self._batons:
            if baton is not None:
                baton.close()


def connect(path: str, rank: int, pid: int) -> tuple[socket.socket, socket.socket | None]:
    """Return a rank's end of its connection, and of the one with its partner."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    sock.sendall(encode(Hello(rank, pid)))
    said, fds, _, _ = socket.recv_fds(sock, 1, 1)
    if not said:
        raise ChannelClosed
    return sock, socket.socket(fileno=fds[0]) if fds else None
