"""Values come through exactly, or with an error that is small and still known to the sender."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.errors import SettingError, WorkerDied
from rl_impls.runtimes.mpi.messages import (
    CODECS,
    GROUP,
    HEAD_BYTES,
    Deltas,
    Exchange,
    RankReport,
    codec_named,
    packed,
    unpacked,
)

FLOATS = st.floats(-60_000.0, 60_000.0, width=32)
VALUES = st.lists(FLOATS, max_size=3 * GROUP).map(lambda each: np.array(each, np.float32))
NAMES = st.sampled_from(sorted(CODECS))


def conveyed(name, values):
    return CODECS[name].unpack(CODECS[name].pack(values), len(values))


@settings(deadline=None)
@given(NAMES, VALUES)
def test_what_is_sent_and_what_is_left_over_make_exactly_the_value(name, values):
    sent = conveyed(name, values)
    residual = values - sent
    np.testing.assert_array_equal(sent + residual, values)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1)))
def test_exact_conveys_every_bit(bits):
    values = np.array(bits, np.uint32).view(np.float32)
    assert conveyed("exact", values).tobytes() == values.tobytes()


@settings(deadline=None)
@given(VALUES)
def test_errors_are_bounded(values):
    float16 = np.abs(values - conveyed("float16", values))
    assert (float16 <= np.abs(values) * 2.0**-11 + 2.0**-25).all()
    for start in range(0, len(values), GROUP):
        largest = np.abs(values[start : start + GROUP]).max()
        int8 = np.abs(values - conveyed("int8", values))[start : start + GROUP]
        assert (int8 <= largest / 127 + 2.0**-126).all()


@pytest.mark.parametrize("name", CODECS)
def test_what_is_too_large_stays_finite(name):
    values = np.array([3e38, -3e38, 1.0, 1e-45], np.float32)
    assert np.isfinite(conveyed(name, values)).all()


@pytest.mark.parametrize(
    ("name", "n_bytes"), [("exact", 4 * 130), ("float16", 2 * 130), ("int8", 130 + 3)]
)
def test_a_message_is_as_long_as_it_should_be(name, n_bytes):
    assert len(CODECS[name].pack(np.ones(130, np.float32))) == n_bytes


def test_an_unknown_compression_is_refused():
    with pytest.raises(SettingError, match="no compression 'zip': choose exact, float16, int8"):
        codec_named("zip")


# A message holds what went into it, in few bytes.


EXACT = CODECS["exact"]


@st.composite
def deltas(draw):
    places = sorted(draw(st.sets(st.integers(0, 10**12) | st.integers(0, 2_000))))
    n = len(places)
    counts = draw(st.lists(st.integers(0, 300) | st.integers(0, 2**32), min_size=n, max_size=n))
    values = draw(st.lists(st.floats(width=32, allow_nan=False), min_size=n, max_size=n))
    return Deltas(np.array(places, int), np.array(counts, int), np.array(values, np.float32))


@settings(deadline=None)
@given(deltas())
def test_a_message_tells_what_was_put_into_it(put):
    got = unpacked(packed(put, EXACT), EXACT)
    np.testing.assert_array_equal(got.places, put.places)
    np.testing.assert_array_equal(got.counts, put.counts)
    assert got.values.tobytes() == put.values.tobytes()


def test_neighbours_and_small_counts_take_a_byte_each():
    n = 1_000
    put = Deltas(np.arange(0, 17 * n, 17), np.arange(n) % 255, np.ones(n, np.float32))
    assert len(packed(put, EXACT)) == HEAD_BYTES + n * (1 + 1 + 4)


# Messages of all ranks: whole ones, and none of an exchange before when a rank is gone.


MESSAGE = np.arange(10, dtype=np.uint8)
REPORT = RankReport(*range(len(RankReport._fields)))


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
