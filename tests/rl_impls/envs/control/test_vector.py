"""Vector environments of Gymnasium as a batch, in all three modes of resetting."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.evaluation import play
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.sac import SAC, SACSettings
from rl_impls.envs.control.make import GymnasiumBatch, batch_of
from rl_impls.envs.control.vector import VectorBatch
from rl_impls.errors import EnvironmentFault, SettingError
from rl_impls.runtimes.deep import RecentEpisodes

MODES = list(AutoresetMode)
every_mode = pytest.mark.parametrize("mode", MODES)


def cartpole():
    return gymnasium.make("CartPole-v1", max_episode_steps=18)


def follows_single_environments(batch, singles, n_rounds=150):
    """Play both by the same actions; return how many episodes ended by their rules and by time."""
    rng = np.random.default_rng(0)
    ends = np.zeros(2, int)
    for _ in range(n_rounds):
        actions = rng.integers(batch.n_actions, size=batch.n_envs)
        got, wanted = batch.step(actions), singles.step(actions)
        for name, mine, theirs in zip(got._fields, got, wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=name)
        assert got.idle is None
        ends += got.terminated.sum(), got.truncated.sum()
    return ends


@every_mode
def test_transitions_are_those_of_single_environments_whatever_the_mode(mode):
    batch = batch_of(SyncVectorEnv([cartpole] * 3, autoreset_mode=mode), 1, seed=10)
    singles = GymnasiumBatch([cartpole() for _ in range(3)], seed=10)
    terminated, truncated = follows_single_environments(batch, singles)
    assert terminated > 3
    assert truncated > 3


@every_mode
def test_environments_in_other_processes_hand_on_the_same(mode):
    vector = AsyncVectorEnv([cartpole] * 2, autoreset_mode=mode)
    batch = VectorBatch(vector, seed=10)
    try:
        singles = GymnasiumBatch([cartpole() for _ in range(2)], seed=10)
        assert follows_single_environments(batch, singles, 40).sum() > 4
    finally:
        batch.close()


class Ladder(gymnasium.Env[Any, Any]):
    """Climbs a rung a step, of three or four by turns; what it shows has several parts."""

    observation_space = spaces.Dict(rung=spaces.Discrete(5), height=spaces.Box(0, 9, (1,)))
    action_space = spaces.Discrete(2, start=1)

    def __init__(self):
        self.top, self.rung = 3, 0

    def seen(self):
        return {"rung": self.rung, "height": np.array([self.rung / 2], np.float32)}

    def reset(self, *, seed=None, options=None):
        self.top, self.rung = 7 - self.top, 0
        return self.seen(), {}

    def step(self, action):
        assert action in (1, 2)
        self.rung += 1
        return self.seen(), float(self.rung), self.rung == self.top, False, {}


@every_mode
def test_observations_in_parts_are_laid_out_flat_the_last_of_an_episode_too(mode):
    batch = VectorBatch(SyncVectorEnv([Ladder] * 2, autoreset_mode=mode))
    assert (batch.obs_size, batch.n_actions) == (6, 2)
    rungs = []
    for _ in range(8):
        step = batch.step(np.zeros(2, np.int64))
        rungs.append((step.obs_tm1[0, 5] * 2, step.obs_t[0, 5] * 2, step.next_obs[0, 5] * 2))
        assert step.obs_t[0, :5].argmax() == step.obs_t[0, 5] * 2
    assert rungs == [
        (0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 4, 0), (0, 1, 1), (1, 2, 2), (2, 3, 0), (0, 1, 1),
    ]  # fmt: skip


def test_where_resets_take_a_step_of_their_own_its_rows_are_idle():
    """Gymnasium's CartPole of arrays takes no request for a reset."""
    vector = gymnasium.make_vec("CartPole-v1", 3, max_episode_steps=9)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    batch, twin = VectorBatch(vector, seed=1), gymnasium.make_vec(
        "CartPole-v1", 3, max_episode_steps=9
    )  # fmt: skip
    here, _ = twin.reset(seed=1)
    rng, was_over, n_idle = np.random.default_rng(0), np.zeros(3, bool), 0
    recent, counted = RecentEpisodes(3), 0
    for _ in range(40):
        actions = rng.integers(2, size=3)
        step = batch.step(actions)
        there, r_t, terminated, truncated, _ = twin.step(actions)
        np.testing.assert_array_equal(step.obs_tm1, here)
        np.testing.assert_array_equal(step.obs_t, there)
        np.testing.assert_array_equal(step.r_t, r_t)
        np.testing.assert_array_equal(step.terminated | step.truncated, terminated | truncated)
        idle = np.zeros(3, bool) if step.idle is None else step.idle
        np.testing.assert_array_equal(idle, was_over)
        recent.count(step)
        n_idle += idle.sum()
        counted += (~idle).sum()
        here, was_over = there, terminated | truncated
    assert n_idle > 5
    assert recent.mean_length == recent.mean_return <= 9  # a reward of 1 a step, idle ones apart
    assert recent.reward_sum == counted


def test_a_replay_never_sees_an_idle_row():
    vector = gymnasium.make_vec("CartPole-v1", 4, max_episode_steps=9)
    agent = DQN(vector, DQNSettings(buffer=1000, learning_starts=10_000), seed=0).learn(400)
    store = agent.replay.state()
    n = int(store["n_added"])
    assert 330 < n < 390
    assert (store["r_t"][:n] == 1.0).all()  # an idle row earns 0
    moved = np.abs(store["obs_t"][:n] - store["obs_tm1"][:n])
    assert moved.max() < 1.0


def test_ppo_leaves_idle_rows_out_of_its_epochs():
    vector = gymnasium.make_vec("CartPole-v1", 4, max_episode_steps=9)
    agent = PPO(vector, PPOSettings(horizon=128, minibatch=32), seed=0)
    seen = []
    inner = agent._update

    def watched(rows, moments):
        seen.append(rows.copy())
        inner(rows, moments)

    agent._update = watched  # type: ignore[method-assign]
    agent.learn(128)
    idle = np.flatnonzero(agent._idle.ravel())
    assert 8 < len(idle) < 20
    rows, counts = np.unique(np.concatenate(seen), return_counts=True)
    assert set(rows) == set(range(128)) - set(idle)
    assert (counts == agent.settings.n_epochs).all()


def test_an_episode_that_is_played_is_as_long_as_its_steps():
    vector = gymnasium.make_vec("CartPole-v1", 3, max_episode_steps=9)
    agent = PPO(vector, PPOSettings(horizon=96), seed=0)
    played = play(agent, vector, 8)
    np.testing.assert_array_equal(played.lengths, played.returns)  # a reward of 1 a step
    assert not played.all_at_once
    assert played.cost == played.lengths.sum() > 8 * 5


@every_mode
def test_agents_learn_from_vector_environments(mode):
    pendulums = SyncVectorEnv(
        [lambda: gymnasium.make("Pendulum-v1", max_episode_steps=10)] * 2, autoreset_mode=mode
    )
    settings = SACSettings(hidden=(8,), batch=8, buffer=100, learning_starts=20)
    sac = SAC(pendulums, settings, seed=0).learn(60)
    assert sac.n_steps == 60
    ppo = PPO(SyncVectorEnv([cartpole] * 2, autoreset_mode=mode), PPOSettings(horizon=64), seed=0)
    assert ppo.learn(128).n_updates == 20


def test_a_vector_environment_that_does_not_say_how_it_resets_is_refused():
    vector = SyncVectorEnv([cartpole])
    vector.metadata = {}
    with pytest.raises(SettingError, match=r"does not say when it resets, .*name the environment"):
        VectorBatch(vector)


class Broken(gymnasium.Env[Any, Any]):
    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Discrete(2)

    def __init__(self, fault):
        self.fault, self.n = fault, 0

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.n += 1
        if self.n < 3:
            return np.zeros(2, np.float32), 0.0, False, False, {}
        if self.fault == "raises":
            raise ZeroDivisionError("no gravity")
        bad = np.array([0, np.nan], np.float32)
        reward = np.inf if self.fault == "reward" else 0.0
        return bad if self.fault == "NaN" else np.zeros(2, np.float32), reward, False, False, {}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raises", r"an environment raised ZeroDivisionError \(no gravity\): mend it"),
        ("NaN", r"environment 1 returned an observation that is not finite \(\[ 0. nan\]\)"),
        ("reward", r"environment 1 returned a reward that is not finite \(inf\)"),
    ],
)
def test_a_fault_of_an_environment_is_told_as_its_own(fault, said):
    envs = [Broken("none"), Broken(fault)]
    vector = SyncVectorEnv([lambda: Broken("none"), lambda: Broken(fault)])
    for batch in (GymnasiumBatch(envs), VectorBatch(vector)):
        for _ in range(2):
            batch.step([0, 0])
        with pytest.raises(EnvironmentFault, match=said):
            batch.step([0, 0])
