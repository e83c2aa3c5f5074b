"""JSON lines over a socket: what the controller and a worker say to each other.

Apart from stdin and stdout, so that whatever a test prints disturbs nothing.
"""

import json
import socket
from typing import Any

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
