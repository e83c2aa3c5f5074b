"""The side scroller: frame for frame beside plain Python, worth learning, at home in a replay."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rl_impls.envs  # noqa: F401
from rl_impls.agents.agent import shape_of
from rl_impls.agents.dqn import DQN
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.side_scroller import (
    BLOCK_HEIGHT,
    COURSE,
    GROUND,
    HEIGHT,
    HILL,
    OBSTACLE,
    RUNNER,
    SIDE,
    SKY,
    SOIL,
    STRIPE,
)
from rl_impls.errors import SpaceError
from rl_impls.replay.frames import FrameReplay
from tests.evidence.figures.memory import ALLOWED_FRAMES, bytes_of_frames

NAME = "rl_impls/SideScroller-v0"
MASK = (1 << 64) - 1


def mixed(z):
    """SplitMix64 in numbers that do not wrap around by themselves."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


class World:
    """What the rules say, of all obstacles of a course and of every pixel."""

    def __init__(self, course):
        self.course, self.distance, self.height, self.velocity = int(course), 0, 0, 0

    def obstacles(self):
        for n in range(1, 30):
            bits = mixed(self.course + n * 0x9E3779B97F4A7C15 & MASK)
            left = 60 * n + (bits >> 5) % 16 - self.distance
            low, high = (13 + (bits >> 3) % 4, 72) if bits % 2 else (0, 8 + (bits >> 3) % 4)
            yield left, left + 4 + (bits >> 1) % 4, low, high

    def step(self, action):
        """(reward, terminated)"""
        ahead = sum(right > 12 for _, right, _, _ in self.obstacles())
        if self.height == 0:
            self.velocity = 6 * action
        self.height = max(0, self.height + self.velocity)
        self.velocity -= 1
        self.distance += 3
        body = {(x, up) for x in range(12, 18) for up in range(self.height, self.height + 10)}
        for left, right, low, high in self.obstacles():
            if any(left <= x < right and low <= up < high for x, up in body):
                return -1.0, True
        return float(ahead - sum(right > 12 for _, right, _, _ in self.obstacles())), False

    def frame(self):
        y, x = np.mgrid[:SIDE, :SIDE]
        up = GROUND - 1 - y
        along = (x + (mixed(self.course) >> 58) + self.distance // 2) % 64
        grey = np.where(up < 4 + np.minimum(along, 63 - along) // 2, HILL, SKY)
        grey = np.where(up < 0, np.where((x + self.distance) % 8 == 0, STRIPE, SOIL), grey)
        for left, right, low, high in self.obstacles():
            grey[(left <= x) & (x < right) & (low <= up) & (up < high)] = OBSTACLE
        grey[(x >= 12) & (x < 18) & (self.height <= up) & (up < self.height + 10)] = RUNNER
        return grey


# What a block shows just ahead of the runner.
WEIGHTS = np.zeros((SIDE, SIDE), np.float32)
WEIGHTS[GROUND - BLOCK_HEIGHT : GROUND, 20:28] = 1 / (8 * BLOCK_HEIGHT)


def linear(frames):
    return (np.einsum("nyx,yx->n", frames, WEIGHTS) > 100).astype(np.int64)


def test_every_frame_and_reward_agree_with_the_oracle():
    rng = np.random.default_rng(0)
    batch: Any = make_batch(NAME, 3, seed=0)
    worlds = [World(course) for course in batch.states[:, COURSE]]
    rewards: list[float] = []
    n_high = 0
    for _ in range(250):
        # Mostly good play: episodes get far, and end.
        actions = np.where(rng.random(3) < 0.03, 1, linear(batch.obs))
        step = batch.step(actions)
        for row, world in enumerate(worlds):
            assert (step.r_t[row], step.terminated[row]) == world.step(int(actions[row]))
            np.testing.assert_array_equal(step.obs_t[row], world.frame())
            n_high += world.height > 20
            if step.terminated[row]:
                worlds[row] = World(batch.states[row, COURSE])
                np.testing.assert_array_equal(step.next_obs[row], worlds[row].frame())
        rewards += step.r_t.tolist()
    assert rewards.count(-1.0) >= 3
    assert rewards.count(1.0) >= 15
    assert n_high > 10


def mean_return(policy, n=100):
    batch = make_batch(NAME, n, seed=1)
    returns, running = np.zeros(n), np.ones(n, np.bool_)
    while running.any():
        step = batch.step(policy(batch.obs))
        returns += step.r_t * running
        running &= ~(step.terminated | step.truncated)
    return returns.mean()


def test_a_linear_policy_runs_to_the_end_where_others_hardly_begin():
    assert mean_return(linear) > 24
    rng = np.random.default_rng(0)
    assert mean_return(lambda frames: rng.integers(2, size=len(frames))) < 0
    for always in (0, 1):
        assert mean_return(lambda frames, a=always: np.full(len(frames), a)) < 1


def test_gymnasium_finds_nothing_to_complain_about():
    env: Any = gymnasium.make(NAME)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.observation_space == gymnasium.spaces.Box(0, 255, (84, 84), np.uint8)


def test_a_jump_takes_its_course_whatever_is_done_meanwhile():
    batch: Any = make_batch(NAME, 1, seed=0)
    heights = []
    for action in [1] + 6 * [0, 1]:
        batch.step([action])
        heights.append(int(batch.states[0, HEIGHT]))
    assert heights == [6, 11, 15, 18, 20, 21, 21, 20, 18, 15, 11, 6, 0]


def test_a_replay_of_its_frames_shows_what_was_seen():
    batch = make_batch(NAME, 1, seed=0)
    replay = FrameReplay(150, (SIDE, SIDE), stack=4, batch_size=128, seed=0)
    rng = np.random.default_rng(0)
    seen: list[Any] = []
    ends = []
    for _ in range(250):
        seen.append(batch.obs[0].copy())
        step = batch.step(rng.integers(2, size=1))
        replay.add(step.obs_tm1[0], 0, step.r_t[0], step.terminated[0])
        if step.terminated[0] or step.truncated[0]:
            seen.append(step.obs_t[0].copy())
            ends.append(len(seen))
            replay.end(step.obs_t[0])
    drawn = replay.sample()
    for i, number in enumerate(drawn.indices.tolist()):
        first = max([0, *(end for end in ends if end <= number)])
        for obs, at in ((drawn.obs_tm1, number), (drawn.obs_t, number + 1)):
            shown = [seen[max(first, at - back)] for back in (3, 2, 1, 0)]
            np.testing.assert_array_equal(obs[i], shown)
        assert drawn.terminated_t[i] == (number + 2 in ends)
    assert drawn.terminated_t.any()


def test_its_frames_take_a_quarter_of_what_they_would_as_float32():
    as_bytes, as_floats = bytes_of_frames(300)
    assert as_bytes <= ALLOWED_FRAMES * as_floats


def test_an_agent_for_rows_of_numbers_is_told_that_these_are_frames():
    shape = shape_of(make_batch(NAME, 1))
    assert shape.frame == (SIDE, SIDE)
    with pytest.raises(SpaceError, match="show frames, and dqn learns from rows"):
        DQN(shape)
