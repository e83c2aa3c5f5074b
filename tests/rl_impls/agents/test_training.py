"""The loop, the evaluation and early stopping, with an agent that only counts."""

import numpy as np
import pytest

from rl_impls.agents.agent import Shape, shape_of
from rl_impls.agents.training import EarlyStopping, evaluate, train
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import SettingError

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
    with pytest.raises(SettingError, match=r"make one with shape_of\(env\)"):
        train(Pusher(Shape(2, 4, 2)), make_batch(NAMES[0], 3, seed=0), 10)


@pytest.mark.parametrize("name", NAMES)
def test_every_episode_of_an_evaluation_is_counted_once_and_to_its_end(name):
    agent = Pusher(Shape(3, 4, 2))
    returns = evaluate(agent, name, 12, seed=1)
    # A pole that is pushed to one side alone falls within 8 to 11 steps.
    assert returns.shape == (12,)
    assert ((returns >= 8) & (returns <= 11)).all()
    np.testing.assert_array_equal(returns, evaluate(agent, name, 12, seed=1))


def stopped(scores, patience=2, n_steps=1000):
    env = make_batch(NAMES[0], 5, seed=0)
    agent = Pusher(shape_of(env))
    coming = iter(scores)
    stopping = EarlyStopping(lambda agent: next(coming), every=10, patience=patience)
    train(agent, env, n_steps, hooks=[stopping])
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
    second = EarlyStopping(lambda agent: 0.0, every=10, patience=5)
    second.set_state(first.state())
    assert (second.best, second.n_since_best, second.n_validations) == (3.0, 1, 3)
    second.restore_best(agent)
    np.testing.assert_array_equal(agent.weights, 4.0)
    env = make_batch(NAMES[0], 5, seed=0)
    assert train(agent, env, 5, hooks=[second]) == 5
    assert second.n_validations == 3
