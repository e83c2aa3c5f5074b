"""Scalars for TensorBoard, in its own file format and without it.

A file of events is a row of records (TFRecord): the length of the data in 8 bytes, its checksum,
the data and their checksum. The data is a protocol buffer, `Event`: wall time is field 1, the step
field 2, the version of the file field 3 and a summary field 5, of which each value (field 1) has a
tag (1) and a number (2). Only whoever looks at it needs `pip install tensorboard`.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rl_impls.errors import LogError

VERSION: Final = "brain.Event:2"
# CRC-32C (Castagnoli), reflected.
_POLYNOMIAL: Final = 0x82F63B78
_MASK_DELTA: Final = 0xA282EAD8
_ALL: Final = 0xFFFFFFFF
# Kinds of fields of a protocol buffer.
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE: Final = _table()


def crc32c(data: bytes) -> int:
    """Return the checksum of these bytes."""
    crc = _ALL
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ _ALL


def record(data: bytes) -> bytes:
    """Return data as a record of a file."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    """Return the checksum, turned and shifted: data may itself hold checksums."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + _MASK_DELTA) & _ALL)


def event(wall_s: float, step: int, scalars: Mapping[str, float]) -> bytes:
    """Return the data of one event."""
    values = (
        _part(1, _part(1, tag.encode()) + _key(2, _FLOAT) + struct.pack("<f", value))
        for tag, value in scalars.items()
    )
    return _head(wall_s) + _key(2, _VARINT) + _varint(step) + _part(5, b"".join(values))


def _head(wall_s: float) -> bytes:
    return _key(1, _DOUBLE) + struct.pack("<d", wall_s)


def _part(field: int, data: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(data)) + data


def _key(field: int, kind: int) -> bytes:
    return bytes([field << 3 | kind])


def _varint(number: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


class EventFile:
    """Writes scalars to a new file in a folder, each time whole: `tensorboard --logdir` shows
    them while the training goes on."""

    def __init__(self, folder: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self._clock: Final = clock
        name = f"events.out.tfevents.{int(clock())}.{socket.gethostname()}.{os.getpid()}"
        self.path: Final = Path(folder) / f"{name}.{time.perf_counter_ns()}"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: Final = self.path.open("xb")  # closed by `close`
        except OSError as error:
            raise LogError(
                f"events cannot be written to {folder} ({error.strerror}): name another folder."
            ) from error
        self._append(_head(clock()) + _part(3, VERSION.encode()))

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """Write a number for each tag, at this step."""
        self._append(event(self._clock(), step, scalars))

    def _append(self, data: bytes) -> None:
        self._file.write(record(data))
        self._file.flush()

    def close(self) -> None:
        self._file.close()
