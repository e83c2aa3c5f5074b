"""A ring of rows against a deque: what comes out, what is dropped, what is counted."""

from collections import deque
from multiprocessing.connection import wait

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.errors import SettingError
from rl_impls.runtimes.actor_learner.ring import RowRing
from rl_impls.runtimes.processes import NamelessMemory
from tests.evidence.figures.first_pipeline import LockedRing
from tests.rl_impls.runtimes.actor_learner.crowd import ended_well, start, write_rows

WORDS = 3


def numbered(first, n):
    """Rows that know their number in every word."""
    return np.repeat(np.arange(first, first + n, dtype=np.uint64)[:, None], WORDS, axis=1)


def numbers(rows):
    assert (rows == rows[:, :1]).all(), "a row is mixed of several"
    return rows[:, 0].tolist()


class Oracle:
    """A deque, and what a ring promises of a full one."""

    def __init__(self, capacity, when_full):
        self.rows: deque[int] = deque()
        self.capacity, self.when_full = capacity, when_full
        self.n_dropped = 0

    def offer(self, new):
        room = self.capacity - len(self.rows)
        if self.when_full == "drop-oldest":
            self.rows.extend(new)
            while len(self.rows) > self.capacity:
                self.rows.popleft()
                self.n_dropped += 1
            return len(new)
        self.rows.extend(new[:room])
        if self.when_full == "wait":
            return min(room, len(new))
        self.n_dropped += max(0, len(new) - room)
        return len(new)

    def take(self, n):
        return [self.rows.popleft() for _ in range(min(n, len(self.rows)))]


DOINGS = st.lists(st.tuples(st.sampled_from(["offer", "take", "peek"]), st.integers(0, 12)))


def locked(capacity, words, *, when_full):
    return LockedRing(capacity, words, NamelessMemory(1), when_full=when_full)


@pytest.mark.parametrize("make", [RowRing, locked])
@pytest.mark.parametrize("when_full", ["wait", "drop-oldest", "drop-newest"])
@given(capacity=st.integers(1, 9), doings=DOINGS)
@settings(deadline=None, max_examples=100)
def test_a_ring_is_a_bounded_deque(make, when_full, capacity, doings):
    ring, oracle = make(capacity, WORDS, when_full=when_full), Oracle(capacity, when_full)
    out = np.zeros((12, WORDS), np.uint64)
    next_number = 0
    for doing, n in doings:
        if doing == "offer":
            assert ring.offer(numbered(next_number, n)) == oracle.offer(
                list(range(next_number, next_number + n))
            )
            next_number += n
        elif doing == "take" or not ring.in_place:
            assert numbers(ring.take(out[:n])) == oracle.take(n)
        else:
            seen = numbers(ring.peek()[:n])
            assert seen == oracle.take(len(seen))
            ring.release(len(seen))
        assert len(ring) == len(oracle.rows)
        assert ring.n_dropped == oracle.n_dropped


def test_rows_in_place_end_where_the_ring_does():
    ring = RowRing(4, WORDS)
    ring.offer(numbered(0, 3))
    ring.release(3)
    ring.offer(numbered(3, 3))
    assert numbers(ring.peek()) == [3]
    ring.release(1)
    assert numbers(ring.peek()) == [4, 5]


@pytest.mark.parametrize("width", [WORDS - 1, WORDS + 1])
def test_rows_of_another_width_are_refused(width):
    ring = RowRing(4, WORDS)
    rows = np.zeros((1, width), np.uint64)
    for call in (ring.offer, ring.take):
        with pytest.raises(ValueError, match="not as wide as the ring's"):
            call(rows)


def test_a_reader_is_woken_once_when_enough_rows_are_there():
    ring = RowRing(8, WORDS)
    assert ring.asks_for(3)
    ring.offer(numbered(0, 2))
    assert not is_rung(ring.data)
    ring.offer(numbered(2, 1))
    ring.data.hear()
    ring.offer(numbered(3, 1))
    assert not is_rung(ring.data)
    assert not ring.asks_for(3)


def is_rung(bell):
    """A bell that rings ends a wait at once, and one that does not after no time."""
    other = RowRing(1, 1).room
    other.ring()
    return bell.fileno() in wait([bell.fileno(), other.fileno()])


@pytest.mark.parametrize(("make", "when_full"), [(RowRing, "drop-oldest"), (locked, "wait")])
def test_rows_in_place_are_refused_where_they_would_not_stay(make, when_full):
    with pytest.raises(SettingError, match=r"use take\(\)"):
        make(4, WORDS, when_full=when_full).peek()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"capacity": 0, "words": 1}, "1 row of 1 word or more, not 0 of 1"),
        ({"capacity": 1, "words": 1, "when_full": "burst"}, "and not 'burst'"),
    ],
)
def test_a_ring_that_makes_no_sense_is_refused(wrong, says):
    with pytest.raises(SettingError, match=says):
        RowRing(**wrong)


# Two processes at one ring, as fast as they can: every row is whole, in order, and counted.


N_ROWS = 100_000
STRESS_WORDS = 13  # about 100 bytes: a row lies in more than one line


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
    ring = RowRing(capacity, STRESS_WORDS, when_full=when_full)
    writer = start(write_rows, ring, N_ROWS, 0)
    n_read = read_all(ring, np.random.default_rng(1))
    assert ended_well(writer)
    assert n_read + ring.n_dropped == N_ROWS
    if when_full == "wait":
        assert ring.n_dropped == 0


def test_rows_that_find_no_room_are_counted_and_the_others_come_whole():
    ring = RowRing(64, STRESS_WORDS, when_full="drop-newest")
    writer = start(write_rows, ring, N_ROWS, 0)
    out = np.zeros((64, STRESS_WORDS), np.uint64)
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
