"""The pipeline's parts, each in one process: rows through a ring, weights through their buffer."""

import numpy as np
import pytest

from rl_impls.agents.agent import Shape
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.replay.layout import row_type
from rl_impls.replay.uniform import UniformReplay
from rl_impls.runtimes.actor_learner.learner import Collector
from rl_impls.runtimes.actor_learner.ring import Bell, RowRing
from rl_impls.runtimes.actor_learner.weights import SharedWeights

pytestmark = pytest.mark.rlperf(category="pipeline")

# (words of a row, rows a call of the writer, calls)
LOADS = {"100 bytes": (13, 1, 1_000), "100 bytes, 32 rows": (13, 32, 200), "28 kB": (3_528, 1, 200)}
OBS_SIZE = 4
N_ROWS = 2_000


def through(ring, rows, out, n):
    """Write one after another, and read as soon as the ring is full."""
    n_read = 0
    for _ in range(n):
        if ring.offer(rows) < len(rows):
            n_read += len(ring.take(out))
            ring.offer(rows)
    return n_read + len(ring.take(out))


@pytest.mark.parametrize("load", LOADS)
def test_rows_through_a_ring(rlperf, load):
    words, rows_a_put, n = LOADS[load]
    # A multiple of what is written at once: it is full, or there is room for all of a call.
    ring = RowRing(4 * rows_a_put, words)
    rows = np.arange(rows_a_put * words, dtype=np.uint64).reshape(rows_a_put, words)
    out = np.zeros((ring.capacity, words), np.uint64)
    n_read = rlperf.measure(lambda: through(ring, rows, out, n), steps=n * rows_a_put)
    assert n_read == n * rows_a_put
    np.testing.assert_array_equal(out[:rows_a_put], rows)


def consolidate(collector, ring, rows, replay):
    ring.offer(rows)
    return collector.move_to(replay)


def test_consolidating_rows_into_a_replay(rlperf):
    words = row_type(OBS_SIZE, 0).itemsize // 8
    data = Bell()
    ring = RowRing(N_ROWS, words, data=data)
    replay = UniformReplay(100_000, OBS_SIZE, batch_size=32, seed=0)
    rows = np.zeros((N_ROWS, words), np.uint64)
    collector = Collector([ring], [], data)
    moved = rlperf.measure(lambda: consolidate(collector, ring, rows, replay), steps=N_ROWS)
    assert moved == N_ROWS
    assert replay.n_added % N_ROWS == 0
    assert len(ring) == 0


def publish_and_copy(shared, source, goal, n):
    for _ in range(n):
        source.parameters()[0][0] += 1.0
        assert shared.publish(source.parameters(), shared.version + 1)
        version = shared.copy_to(goal.parameters())
    return version


def test_publishing_and_copying_weights(rlperf):
    source, goal = (DQN(Shape(1, 4, 2), DQNSettings(buffer=1), seed=seed) for seed in (0, 1))
    shared = SharedWeights(source.net.params.size)
    version = rlperf.measure(lambda: publish_and_copy(shared, source, goal, 50), steps=50)
    assert version == shared.version
    np.testing.assert_array_equal(source.net.params, goal.net.params)


def test_unchanged_weights_cost_a_checksum(rlperf):
    source = DQN(Shape(1, 4, 2), DQNSettings(buffer=1), seed=0)
    shared = SharedWeights(source.net.params.size)
    shared.publish(source.parameters(), 1)

    def publish_again():
        return sum(shared.publish(source.parameters(), 2) for _ in range(100))

    assert rlperf.measure(publish_again, steps=100) == 0
