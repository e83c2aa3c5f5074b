"""Deep agents under `run`: the same training, counted, with a clock that knows when it is over."""

import numpy as np
import pytest

from rl_impls.agents.agent import shape_of, train
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.evaluation import BestCheckpoint
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import SettingError
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import DeepRuntime, Validate

CARTPOLE = "rl_impls/CartPole-v1"


def made(n_envs=2, name=CARTPOLE):
    env = make_batch(name, n_envs, seed=0)
    settings = DQNSettings(hidden=(8,), batch=8, buffer=500, learning_starts=20)
    return DQN(shape_of(env), settings, seed=0), env


@pytest.mark.parametrize("name", [CARTPOLE, "CartPole-v1"])
def test_a_training_is_bit_for_bit_the_same_as_by_the_plain_loop(name):
    plain, env = made(name=name)
    train(plain, env, 300)
    agent, same_env = made(name=name)
    ticks: list[int] = []
    run(DeepRuntime(agent, same_env), 300, tick=ticks.append)
    np.testing.assert_array_equal(agent.net.params, plain.net.params)
    np.testing.assert_array_equal(same_env.obs, env.obs)
    assert agent.n_steps == ticks[-1] == 300
    assert len(ticks) == 50


def test_episodes_and_rewards_are_counted():
    seen = []

    class Look:
        def count(self, step):
            seen.append((step.terminated | step.truncated).sum())

    plain, plain_env = made()
    train(plain, plain_env, 400, tally=Look())
    agent, env = made()
    done = run(DeepRuntime(agent, env), 400).done
    assert (done.steps, done.episodes) == (400, sum(seen))
    assert done.reward_sum == 400.0  # of CartPole: 1 a step


def test_the_clock_stands_still_while_the_agent_is_validated():
    agent, env = made()
    now = [0.0]

    def validate(agent):
        now[0] += 1000.0
        return float(agent.n_steps)

    def clock():
        now[0] += 0.5
        return now[0]

    best = BestCheckpoint(validate)
    progress = run(DeepRuntime(agent, env), 90, hooks=[Validate(Every(30), best)], clock=clock)
    assert (best.n_validations, best.best) == (3, 90.0)
    assert progress.seconds == 1.5


def test_a_batch_steps_as_a_whole():
    agent, env = made(n_envs=8)
    assert run(DeepRuntime(agent, env), 30).done.steps == 32


def test_an_agent_for_other_environments_is_refused():
    agent, _ = made()
    with pytest.raises(SettingError, match="make an agent for these, or name those"):
        DeepRuntime(agent, make_batch(CARTPOLE, 3, seed=0))
