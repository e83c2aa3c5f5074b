"""Frames: an environment that draws them, and the replay that keeps each once, as bytes."""

import numpy as np
import pytest

from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.side_scroller import SIDE
from rl_impls.replay.frames import FrameReplay

NAME = "rl_impls/SideScroller-v0"
N_ENVS = 16
N_ROUNDS = 250
N_FRAMES = 1_000
N_BATCHES = 20
BATCH = 32


def play(batch, actions):
    for action in actions:
        batch.step(action)
    return batch


@pytest.mark.rlperf(category="environment")
def test_steps_of_side_scrollers(rlperf):
    actions = (np.random.default_rng(0).random((N_ROUNDS, N_ENVS)) < 0.05).astype(np.int64)
    batch = rlperf.measure(
        lambda batch: play(batch, actions),
        setup=lambda: make_batch(NAME, N_ENVS, seed=0),
        steps=N_ROUNDS * N_ENVS,
        work=lambda batch: {"running_steps": int(batch.elapsed.sum())},
    )
    assert batch.obs.shape == (N_ENVS, SIDE, SIDE)
    assert len(np.unique(batch.obs, axis=0)) == N_ENVS


def filled(n_frames):
    """A replay of frames of play that know their number, in its action."""
    batch = make_batch(NAME, 1, seed=0)
    replay = FrameReplay(n_frames, (SIDE, SIDE), batch_size=BATCH, seed=0)
    for number in range(n_frames):
        step = batch.step([0])
        replay.add(step.obs_tm1[0], number, step.r_t[0], False)
    return replay


def sample(replay, n):
    for _ in range(n):
        batch = replay.sample()
    return batch


@pytest.mark.rlperf(category="replay", steps=BATCH * N_BATCHES)
def test_sample_of_32_stacks_of_frames(rlperf):
    batch = rlperf(sample, filled(N_FRAMES), N_BATCHES)
    assert np.array_equal(batch.a_tm1, batch.indices)
    assert batch.obs_tm1.shape == (BATCH, 4, SIDE, SIDE)
    # What is seen next is what is seen now, one frame on.
    assert np.array_equal(batch.obs_tm1[:, 1:], batch.obs_t[:, :-1])


def test_memory_of_a_replay_of_frames(rlperf_memory):
    replay = rlperf_memory(filled, N_FRAMES)
    assert replay.nbytes <= 0.26 * N_FRAMES * SIDE * SIDE * np.dtype(np.float32).itemsize
