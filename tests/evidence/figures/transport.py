"""`python -m tests.evidence.figures.transport [ROUNDS [ROWS]]`: rows from one process to another.

A round sends the same rows through each way, in random order, from a process that was started for
it; the time is that of the reader, from the first row to the last, which it checks. The ring is
beside `multiprocessing.Queue` and, where it is installed, the package `faster-fifo`, with as many
rows a call as it can take: `get_many`, and `put_many` where the ring writes several rows too. Every
reader ends with a copy of its own.

Rows of 28 kB are beside a bare copy: one process copies the same rows, made the same way, over as
much memory as the ring has.

A ratio is the median over rounds of the ratio inside a round.
"""

import importlib.util
import random
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from rl_impls.runtimes.actor_learner.ring import RowRing
from rl_impls.runtimes.processes import SPAWNING
from tests.evidence.figures.machine import circumstances

SMALL_BYTES, LARGE_BYTES = 104, 84 * 84 * 4  # whole words; a stack of four frames of uint8
N_SMALL, N_LARGE = 200_000, 40_000
MOST = 1_000  # rows a reader takes at once
RING_BYTES = 1 << 22  # of either kind of shared memory: both hold as many rows


class Load(NamedTuple):
    """What is sent, and how many rows a call of the writer has."""

    title: str
    row_bytes: int
    n_rows: int
    rows_a_put: int


LOADS = (
    Load("100 bytes, row by row", SMALL_BYTES, N_SMALL, 1),
    Load("100 bytes, 32 rows a call", SMALL_BYTES, N_SMALL, 32),
    Load("28 kB, row by row", LARGE_BYTES, N_LARGE, 1),
)


def batches(load: Load) -> Iterator[Any]:
    """Rows as the writer has them: its number is in the first word of each."""
    rows = np.zeros((load.rows_a_put, load.row_bytes // 8), np.uint64)
    if load.rows_a_put == 1:
        for number in range(load.n_rows):
            rows[0, 0] = number  # a twentieth of what adding an array takes
            yield rows
        return
    numbers, step = rows[:, 0], np.uint64(load.rows_a_put)
    numbers[:] = np.arange(load.rows_a_put)
    for _ in range(0, load.n_rows, load.rows_a_put):
        yield rows
        numbers += step


def write_to_ring(ring: RowRing, load: Load) -> None:
    for rows in batches(load):
        ring.put(rows)


def read_from_ring(ring: RowRing, load: Load) -> Iterator[Any]:
    # A part of the ring: the writer fills the rest meanwhile.
    out = np.zeros((min(MOST, ring.capacity // 4), ring.words), np.uint64)
    n = 0
    while n < load.n_rows:
        rows = ring.take(out)
        if len(rows):
            n += len(rows)
            yield rows[:, 0]
        elif ring.asks_for(min(len(out), load.n_rows - n)):
            ring.data.wait()


def write_to_queue(queue: Any, load: Load) -> None:
    for rows in batches(load):
        for row in rows:
            queue.put(row.tobytes())


def read_from_queue(queue: Any, load: Load) -> Iterator[Any]:
    for _ in range(load.n_rows):
        yield np.frombuffer(queue.get(), np.uint64)[:1]


def write_to_fifo(fifo: Any, load: Load) -> None:
    for rows in batches(load):
        if len(rows) == 1:
            fifo.put(rows.tobytes(), timeout=60.0)
        else:
            fifo.put_many([row.tobytes() for row in rows], timeout=60.0)


def read_from_fifo(fifo: Any, load: Load) -> Iterator[Any]:
    n = 0
    while n < load.n_rows:
        rows = fifo.get_many(max_messages_to_get=MOST, timeout=60.0)
        n += len(rows)
        yield np.array([np.frombuffer(row, np.uint64, 1)[0] for row in rows])


class Way(NamedTuple):
    make: Callable[[Load], Any]
    write: Callable[[Any, Load], None]
    read: Callable[[Any, Load], Iterator[Any]]


def ring_rows(load: Load) -> int:
    return max(16, RING_BYTES // load.row_bytes)


def make_ring(load: Load) -> RowRing:
    return RowRing(ring_rows(load), load.row_bytes // 8)


def make_fifo(load: Load) -> Any:
    from faster_fifo import Queue  # type: ignore[import-not-found, unused-ignore]

    return Queue(max_size_bytes=RING_BYTES)


def make_queue(load: Load) -> Any:
    return SPAWNING.Queue(min(ring_rows(load), 30_000))


WAYS = {
    "ring": Way(make_ring, write_to_ring, read_from_ring),
    "multiprocessing.Queue": Way(make_queue, write_to_queue, read_from_queue),
    "faster-fifo": Way(make_fifo, write_to_fifo, read_from_fifo),
}


def ways() -> dict[str, Way]:
    has_fifo = importlib.util.find_spec("faster_fifo") is not None
    return {name: way for name, way in WAYS.items() if name != "faster-fifo" or has_fifo}


def rows_per_s(way: Way, load: Load) -> float:
    """From the first row that arrives to the last; every row has to, in order."""
    channel = way.make(load)
    writer = SPAWNING.Process(target=way.write, args=(channel, load), daemon=True)
    writer.start()
    n, begin, first = 0, 0.0, 0
    for numbers in way.read(channel, load):
        if n == 0:
            begin, first = time.perf_counter(), len(numbers)
        assert int(numbers[0]) == n
        assert int(numbers[-1]) == n + len(numbers) - 1
        n += len(numbers)
    seconds = time.perf_counter() - begin
    writer.join()
    assert n > first, "too few rows to tell a rate"
    return (n - first) / seconds


def bare_copies_per_s(load: Load) -> float:
    """Rows a second that one process copies, over as much memory as a ring has."""
    n = ring_rows(load)
    goal = np.ones((n, load.row_bytes // 8), np.uint64)
    begin = time.perf_counter()
    for at, rows in enumerate(batches(load)):
        goal[at % n] = rows[0]
    return load.n_rows / (time.perf_counter() - begin)


def measure(load: Load, n_rounds: int) -> list[dict[str, float]]:
    rounds = []
    for _ in range(n_rounds):
        todo = dict(ways())
        done = {name: rows_per_s(todo[name], load) for name in random.sample(list(todo), len(todo))}
        if load.row_bytes == LARGE_BYTES:
            done["bare copy"] = bare_copies_per_s(load)
        rounds.append(done)
    return rounds


def render(load: Load, rounds: list[dict[str, float]]) -> str:
    lines = [f"{load.title}, {load.n_rows:,} rows, {len(rounds)} rounds"]
    for name in rounds[0]:
        speeds = [done[name] for done in rounds]
        ratios = sorted(done["ring"] / done[name] for done in rounds)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        beside = "" if name == "ring" else f"  ring is {median(ratios):.2f} ({low:.2f}, {high:.2f})"
        gigabytes = median(speeds) * load.row_bytes / 1e9
        lines.append(f"  {name:24}{median(speeds):>12,.0f} rows/s {gigabytes:>7.3f} GB/s{beside}")
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 9
    print(f"{circumstances()}\npython -m tests.evidence.figures.transport {n_rounds}; (quartiles)")
    if "faster-fifo" not in ways():
        print("faster-fifo is not installed, and left out")
    for load in LOADS:
        if argv[1:]:
            load = load._replace(n_rows=int(argv[1]) // load.rows_a_put * load.rows_a_put)
        print(render(load, measure(load, n_rounds)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
