"""Messages of ranks that share a table: their values, their layout, and their exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError, WorkerDied

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

# How the values of a message are written: exactly, or shorter with an error that stays small.
#
# What a message could not convey is not lost: the rank that sent it still holds it, and it is part
# of the next difference between its table and the agreed one (error feedback).


Number = TypeVar("Number", np.float32, np.float16)
Values = NDArray[np.float32]
Bytes = NDArray[np.uint8]

# So many neighbours share a scale, one byte.
GROUP: Final = 64
MOST_INT8: Final = 127
# Of a scale: below, float32 itself has no full precision.
LEAST_EXPONENT: Final = -126


class Codec(Protocol):
    @property
    def name(self) -> str: ...

    def pack(self, values: Values) -> Bytes: ...

    def unpack(self, data: Bytes, n: int) -> Values:
        """Return the n values that `pack` wrote, as far as it conveyed them."""


class Exact:
    name: Final = "exact"

    def pack(self, values: Values) -> Bytes:
        return values.astype(np.float32).view(np.uint8)

    def unpack(self, data: Bytes, n: int) -> Values:
        return _as(data, np.float32, n)


class Float16:
    name: Final = "float16"

    def pack(self, values: Values) -> Bytes:
        most = np.finfo(np.float16).max
        return np.clip(values, -most, most).astype(np.float16).view(np.uint8)

    def unpack(self, data: Bytes, n: int) -> Values:
        return _as(data, np.float16, n).astype(np.float32)


class Int8:
    """Whole numbers from -127 to 127, times a power of two that suits the largest of a group: the
    product, and what it leaves over, are exact."""

    name: Final = "int8"

    def pack(self, values: Values) -> Bytes:
        groups = _in_groups(values)
        _, exponents = np.frexp(np.abs(groups).max(axis=1, initial=0.0) / MOST_INT8)
        exponents = np.maximum(exponents, LEAST_EXPONENT)
        whole = np.rint(np.ldexp(groups, -exponents[:, None]))
        numbers = np.clip(whole, -MOST_INT8, MOST_INT8).astype(np.int8).reshape(-1)
        written = (exponents.astype(np.int8), numbers[: len(values)])
        return np.concatenate(written).view(np.uint8)

    def unpack(self, data: Bytes, n: int) -> Values:
        n_groups = -(-n // GROUP)
        numbers = data.view(np.int8)
        groups = _in_groups(numbers[n_groups:].astype(np.float32))
        values: Values = np.ldexp(groups, numbers[:n_groups, None].astype(np.int32)).reshape(-1)
        return values[:n]


_ALL: Final[tuple[Codec, ...]] = (Exact(), Float16(), Int8())
CODECS: Final = {codec.name: codec for codec in _ALL}
DEFAULT: Final = Float16.name


def codec_named(name: str) -> Codec:
    if name not in CODECS:
        raise SettingError(f"there is no compression {name!r}: choose {', '.join(CODECS)}.")
    return CODECS[name]


def _as(data: Bytes, kind: type[Number], n: int) -> NDArray[Number]:
    # Copied: it may begin anywhere in a message, and numbers lie at multiples of their size.
    return data.copy().view(kind)[:n]


def _in_groups(values: Values) -> Values:
    """Return the values as (groups, GROUP), the last one filled up with zeros."""
    padded = np.zeros(-(-len(values) // GROUP) * GROUP, np.float32)
    padded[: len(values)] = values
    return padded.reshape(-1, GROUP)


# What a rank learned, as a message: the entries that changed, how often, and by how much.
#
# Layout: three numbers of 32 bits (entries, long gaps, long counts), the gaps between the entries'
# places and the counts of their visits, a byte each, then the values. A gap or a count that does
# not fit into its byte stands behind the bytes of its kind, and its byte says LONG.


LONG: Final = 255
HEAD_BYTES: Final = 12
LONG_BYTES: Final = 8

Places = NDArray[np.int64]  # in the flat table: state * n_actions + action
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Deltas:
    places: Places  # ascending
    counts: Counts  # visits, as far as they were counted
    values: Values  # by how much the entry is above the agreed one

    def __len__(self) -> int:
        return len(self.places)


def packed(deltas: Deltas, codec: Codec) -> Bytes:
    gaps = np.diff(deltas.places, prepend=-1) - 1
    short_gaps, long_gaps = _split(gaps)
    short_counts, long_counts = _split(deltas.counts)
    head = np.array([len(deltas), len(long_gaps), len(long_counts)], np.uint32)
    parts = (head, short_gaps, long_gaps, short_counts, long_counts, codec.pack(deltas.values))
    return np.concatenate([part.view(np.uint8) for part in parts])


def unpacked(data: Bytes, codec: Codec) -> Deltas:
    head = np.frombuffer(data[:HEAD_BYTES].tobytes(), np.uint32)
    n, n_long_gaps, n_long_counts = head.tolist()
    rest = data[HEAD_BYTES:]
    gaps, rest = _joined(rest, n, n_long_gaps)
    counts, rest = _joined(rest, n, n_long_counts)
    return Deltas(np.cumsum(gaps + 1) - 1, counts, codec.unpack(rest, n))


def _split(numbers: NDArray[np.int64]) -> tuple[Bytes, NDArray[np.int64]]:
    return np.minimum(numbers, LONG).astype(np.uint8), numbers[numbers >= LONG]


def _joined(data: Bytes, n: int, n_long: int) -> tuple[NDArray[np.int64], Bytes]:
    """Return the numbers at the beginning of `data`, and what follows them."""
    end = n + n_long * LONG_BYTES
    numbers = data[:n].astype(np.int64)
    numbers[data[:n] == LONG] = np.frombuffer(data[n:end].tobytes(), np.int64)
    return numbers, data[end:]


# Messages of all ranks to all ranks while they compute, without a thread.
#
# First come reports, which have one size and tell that of the message, then the messages. MPI moves
# them on while one of its functions is called, so ranks poll now and then.
#
# Both end with the number of their exchange. MPICH completes a collective whose peer was killed
# without an error and without the peer's data: what then lies in the memory is of an exchange
# before.


class RankReport(NamedTuple):
    """The work of a rank between two exchanges. Sent as float64, which hold counts up to 2**53."""

    steps: float
    episodes: float
    reward_sum: float
    compute_s: float
    elapsed_s: float  # since the training began
    sync_s: float  # of the exchange before: preparing, polling, waiting and taking
    message_bytes: float


REPORT_FIELDS: Final = len(RankReport._fields) + 1  # and the number of the exchange
REPORT_BYTES: Final = 8 * REPORT_FIELDS
ExchangeNumber = np.uint32


class Arrived(NamedTuple):
    """Reports and messages in the order of ranks."""

    reports: list[RankReport]
    messages: list[Bytes]

    @property
    def n_bytes(self) -> int:
        """The bytes that ranks sent: what each had to say, to each of the others."""
        own = sum(REPORT_BYTES + int(report.message_bytes) for report in self.reports)
        return own * (len(self.reports) - 1)


def lost(rank: int) -> WorkerDied:
    return WorkerDied(
        f"rank {rank} ended before its work was done: see what it said, and go on from a "
        "checkpoint with --resume."
    )


def numbered(message: Bytes, number: int) -> Bytes:
    return np.concatenate([message, np.array([number], ExchangeNumber).view(np.uint8)])


def without_number(message: Bytes, number: int, rank: int) -> Bytes:
    content, mark = np.split(message, [len(message) - ExchangeNumber().itemsize])
    if mark.tobytes() != ExchangeNumber(number).tobytes():
        raise lost(rank)
    return content


class Exchange:
    """One exchange at a time: start, poll as often as one likes, finish."""

    def __init__(self, comm: Intracomm) -> None:
        self._comm: Final = comm
        self._n_ranks: Final = comm.Get_size()
        self._number = 0
        self._message: Bytes = np.empty(0, np.uint8)
        self._report: NDArray[np.float64] = np.zeros(REPORT_FIELDS)
        self._reports = np.zeros((self._n_ranks, REPORT_FIELDS))
        self._messages: Bytes = np.empty(0, np.uint8)
        self._first: Request | None = None
        self._second: Request | None = None

    @property
    def under_way(self) -> bool:
        return self._first is not None

    @property
    def requests(self) -> list[Request]:
        return [request for request in (self._first, self._second) if request is not None]

    def start(self, report: RankReport, message: Bytes) -> None:
        self._number += 1
        self._message = numbered(message, self._number)
        self._report[:] = *report._replace(message_bytes=len(self._message)), self._number
        self._first = self._comm.Iallgather(self._report, self._reports)

    def poll(self) -> None:
        if self._second is not None:
            self._second.Test()
        elif self._first is not None and self._first.Test():
            self._second = self._send_messages()

    def finish(self) -> Arrived:
        assert self._first is not None, "nothing was started"
        if self._second is None:
            self._first.Wait()
            self._second = self._send_messages()
        self._second.Wait()
        self._first = self._second = None
        reports = [RankReport(*row[:-1]) for row in self._reports.tolist()]
        parts = np.split(self._messages, np.cumsum(self._sizes())[:-1])
        messages = [without_number(part, self._number, rank) for rank, part in enumerate(parts)]
        return Arrived(reports, messages)

    def _send_messages(self) -> Request:
        for rank, row in enumerate(self._reports):
            if row[-1] != self._number:
                raise lost(rank)
        sizes = self._sizes()
        self._messages = np.empty(sum(sizes), np.uint8)
        return self._comm.Iallgatherv(self._message, (self._messages, sizes))

    def _sizes(self) -> list[int]:
        return [int(report[RankReport._fields.index("message_bytes")]) for report in self._reports]
