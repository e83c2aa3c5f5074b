"""Messages of all ranks to all ranks while they compute, without a thread.

First come reports, which have one size and tell that of the message, then the messages. MPI moves
them on while one of its functions is called, so ranks poll now and then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


REPORT_BYTES: Final = 8 * len(Report._fields)


class Arrived(NamedTuple):
    """In the order of ranks."""

    reports: list[Report]
    messages: list[Bytes]

    @property
    def n_bytes(self) -> int:
        """That ranks sent: what each had to say, to each of the others."""
        own = sum(REPORT_BYTES + int(report.message_bytes) for report in self.reports)
        return own * (len(self.reports) - 1)


class Exchange:
    """One at a time: start, poll as often as one likes, finish."""

    def __init__(self, comm: Intracomm) -> None:
        self._comm: Final = comm
        self._n_ranks: Final = comm.Get_size()
        self._message: Bytes = np.empty(0, np.uint8)
        self._report: NDArray[np.float64] = np.zeros(len(Report._fields))
        self._reports = np.zeros((self._n_ranks, len(Report._fields)))
        self._messages: Bytes = np.empty(0, np.uint8)
        self._first: Request | None = None
        self._second: Request | None = None

    @property
    def under_way(self) -> bool:
        return self._first is not None

    def start(self, report: Report, message: Bytes) -> None:
        self._message = message
        self._report[:] = report._replace(message_bytes=len(message))
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
        reports = [Report(*row) for row in self._reports.tolist()]
        return Arrived(reports, np.split(self._messages, np.cumsum(self._sizes())[:-1]))

    def _send_messages(self) -> Request:
        sizes = self._sizes()
        self._messages = np.empty(sum(sizes), np.uint8)
        return self._comm.Iallgatherv(self._message, (self._messages, sizes))

    def _sizes(self) -> list[int]:
        return [int(n) for n in self._reports[:, -1]]
