"""Files of events, read back by the description of their format."""

import struct
from contextlib import closing

import pytest

from rl_impls.errors import LogError
from rl_impls.tensorboard import EventFile, crc32c


def test_the_checksum_is_castagnolis():
    """The vectors of RFC 3720, B.4."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes([0xFF] * 32)) == 0x62A8AB43


def unmasked(crc):
    crc = (crc - 0xA282EAD8) % 2**32
    return (crc >> 17 | crc << 15) % 2**32


def records(data):
    while data:
        (length, crc) = struct.unpack("<QI", data[:12])
        assert unmasked(crc) == crc32c(data[:8])
        body, rest = data[12 : 12 + length], data[12 + length :]
        assert unmasked(struct.unpack("<I", rest[:4])[0]) == crc32c(body)
        yield body
        data = rest[4:]


def fields(data):
    """A protocol buffer as (field, value) pairs."""

    def varint():
        nonlocal data
        number = shift = 0
        while True:
            byte, data = data[0], data[1:]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while data:
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            length = {1: 8, 5: 4}.get(key & 7) or varint()
            value, data = data[:length], data[length:]
            if key & 7 != 2:
                (value,) = struct.unpack("<d" if length == 8 else "<f", value)
        yield key >> 3, value


def test_events_are_read_back_as_they_were_written(tmp_path):
    with closing(EventFile(tmp_path / "new" / "run", clock=lambda: 1700000000.5)) as events:
        events.write(300, {"a/b": 1.5, "c": -2.0})
        events.write(2**40, {"a/b": 0.0})
    first, second, third = (dict(fields(body)) for body in records(events.path.read_bytes()))
    assert events.path.name.startswith("events.out.tfevents.1700000000.")
    assert first == {1: 1700000000.5, 3: b"brain.Event:2"}
    assert second[2] == 300
    values = [dict(fields(value)) for _, value in fields(second[5])]
    assert values == [{1: b"a/b", 2: 1.5}, {1: b"c", 2: -2.0}]
    assert third[2] == 2**40


def test_what_was_written_is_there_before_the_file_is_closed(tmp_path):
    events = EventFile(tmp_path)
    events.write(1, {"a": 1.0})
    assert len(list(records(events.path.read_bytes()))) == 2
    events.close()


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LogError, match="name another folder"):
        EventFile(tmp_path / "file" / "run")
