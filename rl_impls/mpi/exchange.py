"""Messages of all ranks to all ranks while they compute, without a thread.

First come reports, which have one size and tell that of the message, then the messages. MPI moves
them on while one of its functions is called, so ranks poll now and then.

Both end with the number of their exchange. MPICH completes a collective whose peer was killed
without an error and without the peer's data: what then lies in the memory is of an exchange before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import WorkerDied
from rl_impls.mpi.compression import Bytes

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request


class Report(NamedTuple):
    """What a rank did between two exchanges. Sent as float64, which hold counts up to 2**53."""

    steps: float
    episodes: float
    reward_sum: float
    compute_s: float
    elapsed_s: float  # since the training began
    sync_s: float  # of the exchange before: preparing, polling, waiting and taking
    message_bytes: float


REPORT_FIELDS: Final = len(Report._fields) + 1  # and the number of the exchange
REPORT_BYTES: Final = 8 * REPORT_FIELDS
Number = np.uint32


class Arrived(NamedTuple):
    """In the order of ranks."""

    reports: list[Report]
    messages: list[Bytes]

    @property
    def n_bytes(self) -> int:
        """That ranks sent: what each had to say, to each of the others."""
        own = sum(REPORT_BYTES + int(report.message_bytes) for report in self.reports)
        return own * (len(self.reports) - 1)


def lost(rank: int) -> WorkerDied:
    return WorkerDied(
        f"rank {rank} ended before its work was done: see what it said, and go on from a "
        "checkpoint with --resume."
    )


def numbered(message: Bytes, number: int) -> Bytes:
    return np.concatenate([message, np.array([number], Number).view(np.uint8)])


def without_number(message: Bytes, number: int, rank: int) -> Bytes:
    content, mark = np.split(message, [len(message) - Number().itemsize])
    if mark.tobytes() != Number(number).tobytes():
        raise lost(rank)
    return content


class Exchange:
    """One at a time: start, poll as often as one likes, finish."""

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

    def start(self, report: Report, message: Bytes) -> None:
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
        reports = [Report(*row[:-1]) for row in self._reports.tolist()]
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
        return [int(report[Report._fields.index("message_bytes")]) for report in self._reports]
