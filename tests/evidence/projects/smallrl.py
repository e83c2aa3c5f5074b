"""A small package over Gymnasium, as somebody would write it who has just begun: two wrappers and a
policy, with a suite for pytest-benchmark. It stands for projects that have no name yet.
"""

WRAPPERS = '''
"""What an agent puts around its environment."""

from __future__ import annotations

import gymnasium
import numpy as np


class RunningNorm(gymnasium.ObservationWrapper):
    """Observations less their running mean, over their running deviation."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        shape = env.observation_space.shape
        self.count = 0
        self.mean = np.zeros(shape)
        self.squares = np.zeros(shape)

    def update(self, observation: np.ndarray) -> None:
        self.count += 1
        delta = observation - self.mean
        self.mean += delta / self.count
        self.squares += delta * (observation - self.mean)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        self.update(observation)
        deviation = np.sqrt(self.squares / max(1, self.count - 1))
        return (observation - self.mean) / (deviation + 1e-8)


class TileCoding(gymnasium.ObservationWrapper):
    """Observations as the number of a tile in each of several grids."""

    def __init__(self, env: gymnasium.Env, tiles: int = 8, grids: int = 4) -> None:
        super().__init__(env)
        self.low = np.array([-2.4, -3.0, -0.2, -3.0])
        self.width = -2 * self.low / tiles
        self.tiles, self.grids = tiles, grids

    def index(self, observation: np.ndarray, grid: int) -> int:
        index = 0
        for value, low, width in zip(observation, self.low, self.width, strict=True):
            tile = int((value - low) / width + grid / self.grids)
            index = index * self.tiles + min(max(tile, 0), self.tiles - 1)
        return index

    def observation(self, observation: np.ndarray) -> np.ndarray:
        return np.array([self.index(observation, grid) for grid in range(self.grids)])
'''

ROLLOUT = '''
"""Games, one step after the other."""

from __future__ import annotations

import gymnasium


def collect(env: gymnasium.Env, steps: int) -> list[float]:
    """Return the rewards of a policy that leans against the pole."""
    env.reset(seed=1)
    rewards, action = [], 0
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
        action = int(observation[-1] > 0)
        if terminated or truncated:
            env.reset()
    return rewards


def discounted(rewards: list[float], gamma: float = 0.99) -> list[float]:
    """Return what was still to come after each step."""
    returns, coming = [], 0.0
    for reward in reversed(rewards):
        coming = reward + gamma * coming
        returns.append(coming)
    return returns[::-1]
'''

TESTS = """
import gymnasium
import pytest
from smallrl.rollout import collect, discounted
from smallrl.wrappers import RunningNorm, TileCoding


@pytest.mark.parametrize("wrapper", [gymnasium.Wrapper, RunningNorm, TileCoding])
def test_collect(benchmark, wrapper):
    env = wrapper(gymnasium.make("CartPole-v1"))
    assert len(benchmark(collect, env, 100)) == 100


def test_tiles(benchmark):
    coding = TileCoding(gymnasium.make("CartPole-v1"))
    observation, _ = coding.env.reset(seed=1)
    assert len(benchmark(coding.observation, observation)) == coding.grids


def test_discounted(benchmark):
    assert len(benchmark(discounted, [1.0] * 1000)) == 1000


def test_reset(benchmark):
    env = gymnasium.make("CartPole-v1")
    benchmark(env.reset, seed=1)
"""

FILES = {
    "smallrl/__init__.py": "",
    "smallrl/wrappers.py": WRAPPERS.lstrip(),
    "smallrl/rollout.py": ROLLOUT.lstrip(),
    "tests/test_speed.py": TESTS.lstrip(),
    "conftest.py": "",
}
