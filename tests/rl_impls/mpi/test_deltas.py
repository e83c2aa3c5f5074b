"""A message holds what went into it, in few bytes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.mpi.compression import CODECS
from rl_impls.mpi.deltas import HEAD_BYTES, Deltas, packed, unpacked

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
