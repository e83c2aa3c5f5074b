"""Replay: gathering random rows from, and writing into, arrays larger than the caches."""

import numpy as np
import pytest

from rl_impls.replay.uniform import Transitions, UniformReplay

CAPACITY = 50_000
OBS_SIZE = 64
BATCH_SIZE = 256
N_BATCHES = 24
N_NEW = 20_000


def numbered(n):
    """Transitions that know their number, so that a mixed-up row shows."""
    new = Transitions.zeros(n, OBS_SIZE)
    new.a_tm1[:] = np.arange(n)
    new.obs_tm1[:] = new.a_tm1[:, None]
    new.obs_t[:] = new.a_tm1[:, None] + 1
    return new


def full_replay():
    replay = UniformReplay(CAPACITY, OBS_SIZE, batch_size=BATCH_SIZE, seed=0)
    replay.add_batch(numbered(CAPACITY))
    return replay


def sample_many(replay):
    for _ in range(N_BATCHES):
        batch = replay.sample()
    return batch


@pytest.mark.rlperf(category="replay", steps=N_BATCHES * BATCH_SIZE)
def test_replay_gather(rlperf):
    batch = rlperf(sample_many, full_replay())
    assert len(batch) == BATCH_SIZE
    assert np.array_equal(batch.obs_tm1[:, 0], batch.a_tm1)
    assert np.array_equal(batch.obs_t[:, -1], batch.a_tm1 + 1)


def add(replay, new):
    replay.add_batch(new)
    return len(replay)


@pytest.mark.rlperf(category="replay", steps=N_NEW)
def test_replay_add_to_a_full_ring(rlperf):
    assert rlperf(add, full_replay(), numbered(N_NEW)) == CAPACITY
