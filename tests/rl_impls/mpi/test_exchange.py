"""Messages of all ranks: whole ones, and none of an exchange before when a rank is gone."""

from typing import Any

import numpy as np
import pytest

from rl_impls.errors import WorkerDied
from rl_impls.mpi.exchange import Exchange, Report

MESSAGE = np.arange(10, dtype=np.uint8)
REPORT = Report(*range(len(Report._fields)))


class Done:
    def Test(self):  # noqa: N802
        return True

    def Wait(self):  # noqa: N802
        pass


class TwinComm:
    """Two ranks that say the same. One of the collectives may end as MPICH's do when a rank was
    killed: without an error, and without what that rank had to say."""

    def __init__(self):
        self.loses = None

    def Get_size(self):  # noqa: N802
        return 2

    def Iallgather(self, own, everyones):  # noqa: N802
        everyones[0] = own
        if self.loses != "report":
            everyones[1] = own
        return Done()

    def Iallgatherv(self, own, received):  # noqa: N802
        everyones, sizes = received
        everyones[: sizes[0]] = own
        everyones[sizes[0] :] = 0 if self.loses == "message" else own
        return Done()


def exchange_over(comm: Any) -> Exchange:
    return Exchange(comm)


def exchanged(exchange):
    exchange.start(REPORT, MESSAGE)
    exchange.poll()
    return exchange.finish()


def test_what_was_said_arrives_in_the_order_of_ranks():
    exchange = exchange_over(TwinComm())
    for _ in range(3):
        arrived = exchanged(exchange)
        assert [message.tolist() for message in arrived.messages] == [MESSAGE.tolist()] * 2
        assert [report._replace(message_bytes=6.0) for report in arrived.reports] == [REPORT] * 2
        assert not exchange.under_way
        assert arrived.n_bytes == 2 * (8 * 8 + 14)


@pytest.mark.parametrize("lost", ["report", "message"])
def test_words_of_a_rank_that_is_gone_are_not_taken_from_an_exchange_before(lost):
    comm = TwinComm()
    exchange = exchange_over(comm)
    exchanged(exchange)
    comm.loses = lost
    with pytest.raises(WorkerDied, match=r"rank 1 ended before its work was done.*--resume"):
        exchanged(exchange)
