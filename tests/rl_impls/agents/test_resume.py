"""Saved agents: they go on bit for bit, and what is no saved agent is refused with a reason."""

import json
from typing import Any

import numpy as np
import pytest

from rl_impls.agents.agent import shape_of, train
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.evaluation import BestCheckpoint
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.agents.rainbow import RainbowLite, RainbowLiteSettings
from rl_impls.agents.sac import SAC, SACSettings
from rl_impls.agents.td3 import TD3, TD3Settings
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import AgentFileError
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import DeepRuntime, Validate

CARTPOLE = "rl_impls/CartPole-v1"
# Rings that are full before the end, and steps that no round of learning ends with.
REPLAY: Any = {"hidden": (16,), "batch": 16, "buffer": 200, "learning_starts": 40}
AGENTS: dict[str, tuple[Any, Any, str]] = {
    "ppo": (PPO, PPOSettings(horizon=96, minibatch=40, n_epochs=2, hidden=(16,)), CARTPOLE),
    "ppo of points": (
        PPO,
        PPOSettings(
            horizon=96,
            minibatch=40,
            n_epochs=2,
            hidden=(16,),
            normalise_obs=True,
            normalise_rewards=True,
        ),
        "rl_impls/Pendulum-v1",
    ),
    "dqn": (DQN, DQNSettings(**REPLAY, target_every=50), CARTPOLE),
    "qr-dqn": (QRDQN, QRDQNSettings(**REPLAY, target_every=50, n_quantiles=5), CARTPOLE),
    "rainbow-lite": (RainbowLite, RainbowLiteSettings(**REPLAY, target_every=50), CARTPOLE),
    "sac": (SAC, SACSettings(**REPLAY), "rl_impls/Pendulum-v1"),
    "td3": (TD3, TD3Settings(**REPLAY), "rl_impls/Pendulum-v1"),
}


def made(name, seed=0):
    kind, settings, env_name = AGENTS[name]
    env = make_batch(env_name, 3, seed=1)
    return kind(shape_of(env), settings, seed=seed), env


def assert_equal_states(one, other):
    first, second = one.state(), other.state()
    assert first.keys() == second.keys()
    for key, array in first.items():
        np.testing.assert_array_equal(array, second[key], err_msg=key)
    assert one.n_steps == other.n_steps


@pytest.mark.parametrize("name", AGENTS)
def test_a_saved_training_goes_on_bit_for_bit(name, tmp_path):
    through, env = made(name)
    train(through, env, 450)
    half, half_env = made(name)
    train(half, half_env, 225)
    half.save(tmp_path / "half.npz", half_env)
    later_env = make_batch(AGENTS[name][2], 3, seed=99)
    later = AGENTS[name][0].load(tmp_path / "half.npz", later_env)
    assert_equal_states(half, later)
    train(later, later_env, 225)
    assert_equal_states(through, later)
    np.testing.assert_array_equal(env.obs, later_env.obs)
    assert not np.array_equal(through.parameters()[0], made(name)[0].parameters()[0])


@pytest.mark.parametrize("name", AGENTS)
def test_equal_seeds_make_equal_trainings_and_others_do_not(name):
    agents = []
    for seed in (0, 0, 1):
        agent, env = made(name, seed)
        train(agent, env, 150)
        agents.append(agent)
    assert_equal_states(agents[0], agents[1])
    assert not np.array_equal(agents[0].parameters()[0], agents[2].parameters()[0])


@pytest.mark.parametrize("name", AGENTS)
def test_a_loaded_agent_acts_greedily_as_the_saved_one(name, tmp_path):
    agent, env = made(name)
    agent.save(tmp_path / "agent.npz")
    loaded = AGENTS[name][0].load(tmp_path / "agent.npz")
    obs = np.random.default_rng(0).standard_normal((700, env.obs_size)).astype(np.float32)
    actions = agent.greedy(obs)
    assert len(actions) == 700
    np.testing.assert_array_equal(actions, loaded.greedy(obs))
    np.testing.assert_allclose(actions[:5], agent.greedy(obs[:5]), rtol=1e-5)


def test_without_its_environments_a_round_that_has_begun_begins_anew(tmp_path):
    agent, env = made("ppo")
    train(agent, env, 30)
    agent.save(tmp_path / "agent.npz", env)
    assert PPO.load(tmp_path / "agent.npz", env)._rollout.t == 10
    assert PPO.load(tmp_path / "agent.npz")._rollout.t == 0


def test_early_stopping_is_saved_with_the_agent(tmp_path):
    agent, env = made("dqn")
    scores = iter([2.0, 1.0, 1.5])
    stopping = BestCheckpoint(lambda agent: next(scores), patience=10)
    run(DeepRuntime(agent, env), 90, hooks=[Validate(Every(30), stopping)])
    agent.save(tmp_path / "agent.npz", env, stopping)
    later = BestCheckpoint(lambda agent: 0.0)
    DQN.load(tmp_path / "agent.npz", env, later)
    assert (later.best, later.n_since_best) == (2.0, 2)


def saved(tmp_path):
    agent, _ = made("ppo")
    path = tmp_path / "agent.npz"
    agent.save(path)
    return path


def rewrite(path, **changes):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes()) | changes.pop("header", {})
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, header=text, **(arrays | changes))


def test_what_is_no_saved_agent_is_refused(tmp_path):
    with pytest.raises(AgentFileError, match="there is no saved agent at"):
        PPO.load(tmp_path / "missing.npz")
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(AgentFileError, match="no saved agent, or a damaged one"):
        PPO.load(path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"header": {"version": 7}}, "has version 7, and this release reads version 1"),
        ({"header": {"agent": "sac"}}, "holds the agent 'sac', not 'ppo'"),
        ({"header": {"settings": {"hidden": [16], "horizont": 3}}}, "contradicts itself"),
        ({"agent.actor": np.zeros(3, np.float32)}, r"actor is float32 \(3,\), not float32"),
        (
            {"agent.chance": np.full(4, np.nan)},
            r"random numbers is float64 \(4,\), not uint64 \(2,\)",
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_with_the_reason(tmp_path, changes, says):
    path = saved(tmp_path)
    rewrite(path, **changes)
    with pytest.raises(AgentFileError, match=says):
        PPO.load(path)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    agent, _ = made("ppo")
    with pytest.raises(AgentFileError, match="cannot be written to"):
        agent.save(tmp_path / "missing" / "agent.npz")
