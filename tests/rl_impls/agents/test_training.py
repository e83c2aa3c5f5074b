"""The loop, the evaluation and early stopping, with an agent that only counts."""

import numpy as np
import pytest

from rl_impls.agents.agent import Shape, shape_of, train
from rl_impls.agents.evaluation import BestCheckpoint, evaluate
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import SettingError
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import Validate
from rl_impls.tabular.training import Training

NAMES = ["rl_impls/CartPole-v1", "CartPole-v1"]


class Pusher:
    """Pushes to one side, and keeps what it was shown."""

    def __init__(self, shape):
        self.shape = shape
        self.n_steps = 0
        self.weights = np.zeros(3)
        self.seen = []

    def act(self, obs):
        self.acted_on = obs.copy()
        return np.zeros(len(obs), np.int64)

    greedy = act

    def observe(self, step):
        np.testing.assert_array_equal(step.obs_tm1, self.acted_on)
        self.seen.append(step.truncated | step.terminated)
        self.n_steps += self.shape.n_envs
        self.weights += 1

    def parameters(self):
        return [self.weights]

    def set_parameters(self, arrays):
        (self.weights[:],) = arrays


@pytest.mark.parametrize("name", NAMES)
def test_the_loop_shows_the_agent_every_step_of_the_batch(name):
    env = make_batch(name, 3, seed=0)
    agent = Pusher(shape_of(env))
    assert train(agent, env, 100) == 102
    assert len(agent.seen) == 34
    assert np.any(agent.seen)
    assert train(agent, env, 1) == 3


def test_an_agent_for_other_environments_is_refused():
    with pytest.raises(SettingError, match="make an agent for these, or name those"):
        train(Pusher(Shape(2, 4, 2)), make_batch(NAMES[0], 3, seed=0), 10)


@pytest.mark.parametrize("name", NAMES)
def test_every_episode_of_an_evaluation_is_counted_once_and_to_its_end(name):
    agent = Pusher(Shape(3, 4, 2))
    returns = evaluate(agent, name, 12, seed=1)
    # A pole that is pushed to one side alone falls within 8 to 11 steps.
    assert returns.shape == (12,)
    assert ((returns >= 8) & (returns <= 11)).all()
    np.testing.assert_array_equal(returns, evaluate(agent, name, 12, seed=1))


class Playing:
    """As much of a runtime as `run` asks for."""

    def __init__(self, agent, env):
        self.agent, self._env = agent, env

    def train(self, n_steps, tick=None):
        return Training(train(self.agent, self._env, n_steps), 0, 0.0)


def stopped(scores, patience=2, n_steps=1000):
    env = make_batch(NAMES[0], 5, seed=0)
    agent = Pusher(shape_of(env))
    coming = iter(scores)
    stopping = BestCheckpoint(lambda agent: next(coming), patience=patience)
    run(Playing(agent, env), n_steps, hooks=[Validate(Every(10), stopping)])
    return agent, stopping


def test_training_ends_when_patience_does_and_the_best_parameters_are_back():
    agent, stopping = stopped([1.0, 3.0, 2.0, 1.0, 5.0])
    assert agent.n_steps == 40
    assert (stopping.best, stopping.n_validations) == (3.0, 4)
    np.testing.assert_array_equal(agent.weights, 4.0)


def test_of_equally_good_parameters_the_last_are_kept_and_patience_goes_on():
    agent, stopping = stopped([3.0, 3.0, 2.0, 5.0])
    assert (stopping.best, stopping.n_validations) == (3.0, 3)
    np.testing.assert_array_equal(agent.weights, 4.0)


def test_training_that_gets_better_goes_on_to_its_end():
    agent, stopping = stopped(range(100), n_steps=55)
    assert agent.n_steps == 55
    np.testing.assert_array_equal(agent.weights, 11.0)
    stopping.restore_best(agent)
    np.testing.assert_array_equal(agent.weights, 10.0)


def test_a_validation_that_is_no_number_is_refused():
    with pytest.raises(SettingError, match="a validation returned NaN"):
        stopped([np.nan])


def test_early_stopping_goes_on_from_its_state():
    agent, first = stopped([1.0, 3.0, 2.0], patience=5, n_steps=30)
    second = BestCheckpoint(lambda agent: 0.0, patience=5)
    second.set_state(first.state())
    assert (second.best, second.n_since_best, second.n_validations) == (3.0, 1, 3)
    second.restore_best(agent)
    np.testing.assert_array_equal(agent.weights, 4.0)
    env = make_batch(NAMES[0], 5, seed=0)
    assert run(Playing(agent, env), 5, hooks=[Validate(Every(10), second)]).done.steps == 5
    assert second.n_validations == 3


def test_the_state_of_an_early_release_has_a_third_count_that_is_not_needed_any_more():
    _, first = stopped([1.0, 3.0, 2.0], patience=5, n_steps=30)
    old = first.state() | {"counts": np.array([3, 1, 40])}
    second = BestCheckpoint(lambda agent: 0.0)
    second.set_state(old)
    assert (second.n_validations, second.n_since_best) == (3, 1)


def test_parameters_that_did_not_change_take_no_patience():
    agent = Pusher(Shape(1, 4, 2))
    stopping = BestCheckpoint(lambda agent: 1.0, patience=2)
    for _ in range(5):
        stopping.judge(agent)
    assert (stopping.n_validations, stopping.n_since_best) == (5, 0)
    for n in (1, 2):
        agent.weights += 1
        stopping.judge(agent)
        assert (stopping.n_since_best, stopping.is_over) == (n, n == 2)


def test_without_patience_training_goes_on_whatever_the_validations_say():
    agent, stopping = stopped([3.0, *[1.0] * 20], patience=None, n_steps=100)
    assert (agent.n_steps, stopping.is_over) == (100, False)


def test_patience_is_at_least_one_validation():
    with pytest.raises(SettingError, match="patience is at least 1"):
        BestCheckpoint(lambda agent: 0.0, patience=0)
