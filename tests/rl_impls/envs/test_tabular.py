"""Gymnasium's own environments, by number."""

from itertools import product

import gymnasium
import pytest
from gymnasium import spaces
from gymnasium.envs.toy_text.taxi import TaxiEnv
from gymnasium.wrappers import TimeLimit
from hypothesis import given
from hypothesis import strategies as st

from rl_impls.envs.games import TicTacToeEnv
from rl_impls.envs.tabular import TabularEnv, make_tabular, state_numbering
from rl_impls.errors import SpaceError
from rl_impls.tabular import LEARNERS, ListQLearning
from rl_impls.tabular.training import evaluate
from tests.factories import examples


@examples
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4), first=st.integers(-3, 3))
def test_each_tuple_of_discrete_has_a_number_of_its_own(sizes, first):
    space = spaces.Tuple([spaces.Discrete(size, start=first) for size in sizes])
    n, number = state_numbering(space)
    whole = product(*(range(first, first + size) for size in sizes))
    assert [number(observation) for observation in whole] == list(range(n))


def test_a_multi_discrete_space_counts_its_last_component_singly():
    n, number = state_numbering(spaces.MultiDiscrete([2, 3]))
    assert (n, number([1, 0]), number([1, 2])) == (6, 3, 5)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("env_name", ["FrozenLake-v1", "CliffWalking-v1", "Blackjack-v1"])
def test_every_learner_trains_on_gymnasiums_environments(name, env_name):
    env = make_tabular(env_name, seed=0)
    learner = LEARNERS[name](env.n_states, env.n_actions, seed=0)
    training = learner.train(env, 200)
    assert training.steps == learner.n_steps == 200
    assert learner.n_episodes == training.episodes


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_keeps_to_the_mask_of_taxi(name):
    env = TabularEnv(TaxiEnv(), seed=0)
    learner = LEARNERS[name](env.n_states, env.n_actions, seed=0)
    state, legal = env.reset()
    for _ in range(200):
        action = learner.act(state, legal)
        assert legal is not None
        assert action in legal
        s_t, reward, terminated, _, legal = env.step(action)
        learner.learn(state, action, reward, s_t, terminated=terminated, legal_t=legal)
        state = s_t


def test_q_learning_crosses_the_frozen_lake():
    env = make_tabular("FrozenLake-v1", seed=0, is_slippery=False)
    learner = ListQLearning(env.n_states, env.n_actions, seed=0)
    learner.train(env, 20_000)
    played = evaluate(learner, make_tabular("FrozenLake-v1", is_slippery=False), 10)
    assert (played.win_rate, played.steps) == (1.0, 60)


def test_a_truncated_episode_ends_and_is_counted():
    env = TabularEnv(TimeLimit(TaxiEnv(), 5), seed=0)
    learner = ListQLearning(env.n_states, env.n_actions, seed=0)
    assert learner.train(env, 50).episodes >= 10


def test_the_rules_are_not_played_past_a_wrapper_that_changes_them():
    assert TabularEnv(gymnasium.make("TicTacToe-v0")).model is not None
    limited = TabularEnv(TimeLimit(TicTacToeEnv(), 2), seed=0)
    assert limited.model is None
    learner = LEARNERS["compiled"](limited.n_states, limited.n_actions, seed=0)
    assert learner.train(limited, 100).episodes == 50


def test_spaces_that_no_table_holds_are_refused_by_name():
    with pytest.raises(SpaceError, match="observations from a Box of shape"):
        make_tabular("CartPole-v1")
    env = TicTacToeEnv()
    env.action_space = spaces.Box(0, 1)  # type: ignore[assignment]
    with pytest.raises(SpaceError, match="actions from a Box of shape"):
        TabularEnv(env)
