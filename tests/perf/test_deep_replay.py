"""Replay: a batch costs about the same, however many transitions it is drawn from."""

import numpy as np
import pytest

from rl_impls.replay.layout import Transitions
from rl_impls.replay.prioritised import PrioritisedReplay
from rl_impls.replay.uniform import UniformReplay

OBS_SIZE = 4
CAPACITIES = [10_000, 100_000, 1_000_000]
KINDS = {"uniform": UniformReplay, "prioritised": PrioritisedReplay}
N_SMALL = 200  # batches of 32 a call
N_LARGE = 50  # batches of 256
N_NEW = 500


def full(kind, capacity, batch_size):
    """A replay whose transitions know their number, so that a mixed-up row shows."""
    replay = KINDS[kind](capacity, OBS_SIZE, batch_size=batch_size, seed=0)
    new = Transitions.zeros(capacity, OBS_SIZE)
    new.a_tm1[:] = np.arange(capacity)
    new.obs_tm1[:] = new.a_tm1[:, None]
    new.obs_t[:] = new.a_tm1[:, None] + 1
    replay.add_batch(new)
    return replay


def sample(replay, n):
    for _ in range(n):
        batch = replay.sample()
    return batch


def sample_and_update(replay, td_errors, n):
    for _ in range(n):
        batch = replay.sample()
        replay.update(batch.indices, td_errors)
    return batch


def assert_whole(batch, batch_size, capacity):
    assert len(batch) == batch_size
    assert np.array_equal(batch.obs_tm1[:, 0], batch.a_tm1.astype(np.float32))
    assert np.array_equal(batch.obs_t[:, -1], batch.a_tm1.astype(np.float32) + 1)
    assert len(np.unique(batch.a_tm1)) > 0.8 * batch_size
    assert batch.a_tm1.max() > capacity / 2


@pytest.mark.rlperf(category="replay", steps=32 * N_SMALL, sizes=CAPACITIES)
def test_sample_of_32(rlperf, rlperf_size):
    batch = rlperf(sample, full("uniform", rlperf_size, 32), N_SMALL)
    assert_whole(batch, 32, rlperf_size)


@pytest.mark.rlperf(category="replay", steps=256 * N_LARGE, sizes=CAPACITIES)
def test_sample_of_256(rlperf, rlperf_size):
    batch = rlperf(sample, full("uniform", rlperf_size, 256), N_LARGE)
    assert_whole(batch, 256, rlperf_size)


@pytest.mark.rlperf(category="replay", steps=256 * N_LARGE, sizes=CAPACITIES)
def test_prioritised_sample_and_update_of_256(rlperf, rlperf_size):
    replay = full("prioritised", rlperf_size, 256)
    # What is near the newcomers' priority: the rows that are drawn stay spread over all there are.
    td_errors = np.linspace(0.5, 1.0, 256, dtype=np.float32)
    batch = rlperf(sample_and_update, replay, td_errors, N_LARGE)
    assert_whole(batch, 256, rlperf_size)
    assert np.array_equal(batch.indices, batch.a_tm1)
    assert batch.weights.max() == 1.0
    assert replay.total() == pytest.approx(replay.priorities().sum())


def add_one_by_one(replay, obs, n):
    for number in range(n):
        replay.add(obs, number, 1.0, obs, False)
    return len(replay)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.rlperf(category="replay", steps=N_NEW)
def test_adding_one_by_one(rlperf, kind):
    replay = full(kind, 100_000, 32)
    assert rlperf(add_one_by_one, replay, np.zeros(OBS_SIZE, np.float32), N_NEW) == 100_000
    # Whoever was written last lies before the oldest one.
    last = replay.state()["a_tm1"][(replay.n_added - 1) % replay.capacity]
    assert last == N_NEW - 1
