"""Two processes at one ring, as fast as they can: every row is whole, in order, and counted."""

import numpy as np
import pytest

from rl_impls.pipeline.ring import RowRing
from tests.rl_impls.pipeline.crowd import ended_well, start, write_rows

N_ROWS = 100_000
WORDS = 13  # about 100 bytes: a row lies in more than one line


def read_all(ring, rng):
    """All rows that come until the last one, whatever is dropped on the way."""
    out = np.zeros((64, ring.words), np.uint64)
    last = -1
    n_read = 0
    while last < N_ROWS - 1:
        rows = ring.take(out[: int(rng.integers(1, 65))])
        if not len(rows):
            if ring.asks_for(int(rng.integers(1, 65))) and ring.n_written < N_ROWS:
                ring.data.wait(timeout_s=1.0)  # less may be left than was asked for
            continue
        first = rows[:, 0].astype(np.int64)
        assert (rows == rows[:, :1]).all(), "a row is torn"
        assert first[0] > last
        assert (np.diff(first) > 0).all(), "rows came out of order"
        last, n_read = int(first[-1]), n_read + len(rows)
    return n_read


@pytest.mark.parametrize("when_full", ["wait", "drop-oldest"])
@pytest.mark.parametrize("capacity", [7, 64])
def test_rows_are_whole_and_in_order(when_full, capacity):
    ring = RowRing(capacity, WORDS, when_full=when_full)
    writer = start(write_rows, ring, N_ROWS, 0)
    n_read = read_all(ring, np.random.default_rng(1))
    assert ended_well(writer)
    assert n_read + ring.n_dropped == N_ROWS
    if when_full == "wait":
        assert ring.n_dropped == 0


def test_rows_that_find_no_room_are_counted_and_the_others_come_whole():
    ring = RowRing(64, WORDS, when_full="drop-newest")
    writer = start(write_rows, ring, N_ROWS, 0)
    out = np.zeros((64, WORDS), np.uint64)
    n_read, last = 0, -1
    while writer.is_alive() or len(ring):
        rows = ring.take(out)
        assert (rows == rows[:, :1]).all(), "a row is torn"
        for number in rows[:, 0].tolist():
            assert number > last
            last = number
        n_read += len(rows)
    assert ended_well(writer)
    assert n_read == ring.n_written
    assert n_read + ring.n_dropped == N_ROWS
