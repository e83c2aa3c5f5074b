"""The compiled learner: what it keeps of a row never goes stale, and it learns where no rules are
compiled as lists do."""

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from numba import njit

from rl_impls.envs.compiled import rules_for
from rl_impls.envs.model import ModelEnv
from rl_impls.envs.tabular import TabularEnv, make_tabular
from rl_impls.tabular import LEARNERS, CompiledQLearning, Constant, Settings, kernels
from tests.rl_impls.tabular.oracle import Transition, table_after

N_STATES = 5
DISCOUNT, ALPHA = 0.9, 0.3


class RingTables(NamedTuple):
    """Moves on a ring: many actions stay where they are, so that a row is read while written."""

    n_states: int


class Ring:
    def __init__(self, n_actions):
        self.n_states, self.n_actions = N_STATES, n_actions
        self.tables = RingTables(N_STATES)
        self.legal = [tuple(range(n_actions))] * N_STATES
        self.masks = np.ones((N_STATES, n_actions), np.bool_)

    def reset(self, draw):
        return draw % self.n_states

    def step(self, state, action, draw):
        return _step_ring(self.tables, state, action, draw)

    def reset_batch(self, draws):
        return draws.astype(np.int64) % self.n_states

    def step_batch(self, states, actions, draws):
        raise NotImplementedError("these tests play one ring at a time")


def _reset_ring(tables, draw):
    return draw % tables.n_states


def _step_ring(tables, state, action, draw):
    s_t = (state + action % 2) % tables.n_states
    return s_t, float(draw % 7) - 3.0, draw % 5 == 0


rules_for(RingTables, _reset_ring, _step_ring)


@pytest.fixture(scope="module", autouse=True)
def _compiled_for_these_tests_alone():
    """The package's cache on disk would name the tables above, which others cannot import."""
    with pytest.MonkeyPatch.context() as patch:
        loop: Any = kernels.train
        uncached = njit(nogil=True, error_model="numpy", fastmath={"contract"})(loop.py_func)
        patch.setattr(kernels, "train", uncached)
        yield


def ring_learner(n_actions, epsilon):
    settings = Settings(Constant(ALPHA), Constant(epsilon), DISCOUNT)
    return CompiledQLearning(N_STATES, n_actions, settings=settings, seed=3)


def ring(n_actions):
    return TabularEnv(ModelEnv(Ring(n_actions)), seed=1)


# One vector, a full one, and rows that no vector holds.
@pytest.mark.parametrize("n_actions", [2, 16, 17])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_a_step_a_call_learns_bit_by_bit_what_all_steps_in_one_call_do(n_actions, epsilon):
    at_once, singly = (ring_learner(n_actions, epsilon) for _ in range(2))
    env = ring(n_actions)
    want = at_once.train(ring(n_actions), 400)
    got = [singly.train(env, 1) for _ in range(400)]
    assert (len(got), sum(one.episodes for one in got)) == (400, want.episodes)
    np.testing.assert_array_equal(singly.table(), at_once.table())


@pytest.mark.parametrize("n_actions", [2, 16, 17])
def test_every_greedy_choice_is_the_first_best_of_the_table_then(n_actions):
    trace = np.zeros((400, 5))
    learner = ring_learner(n_actions, 0.0)
    learner.train(ring(n_actions), 400, trace=trace)
    stream = [Transition(int(s), int(a), r, int(t), bool(end), None) for s, a, r, t, end in trace]
    for i in range(0, len(stream), 13):
        row = table_after(N_STATES, n_actions, stream[:i], ALPHA, DISCOUNT)[stream[i].s_tm1]
        assert row[stream[i].a_tm1] == pytest.approx(row.max(), abs=1e-4)
    want = table_after(N_STATES, n_actions, stream, ALPHA, DISCOUNT)
    np.testing.assert_allclose(learner.table(), want, atol=1e-4)


def test_a_table_that_was_replaced_between_two_calls_is_followed_at_once():
    learner, trace = ring_learner(4, 0.0), np.zeros((1, 5))
    learner.train(ring(4), 100)
    table = np.zeros((N_STATES, 4), np.float32)
    table[:, 2] = 100.0
    learner.set_table(table)
    learner.train(ring(4), 1, trace=trace)
    assert trace[0, 1] == 2


@pytest.mark.parametrize("name", ["FrozenLake-v1", "Taxi-v3", "CliffWalking-v1", "Blackjack-v1"])
@pytest.mark.parametrize("n_steps", [1500, 3])
@pytest.mark.parametrize("settings", [Settings(), Settings.for_training(1800)])
def test_it_plays_the_games_of_lists_in_environments_that_gymnasium_steps(name, n_steps, settings):
    if name == "Taxi-v3":
        name = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else name
    learned = []
    for learner_name in ("compiled", "list"):
        env = make_tabular(name, seed=5)
        learner = LEARNERS[learner_name](env.n_states, env.n_actions, settings=settings)
        learner.chance.seed(7)
        visits = np.zeros((env.n_states, env.n_actions), np.uint32)
        trainings = [learner.train(env, n, visits=visits) for n in (n_steps, 0, 300)]
        learned.append((trainings, learner.n_steps, learner.n_episodes, visits, learner.table()))
    (*got, got_visits, got_table), (*want, want_visits, want_table) = learned
    assert got == want
    np.testing.assert_array_equal(got_visits, want_visits)
    np.testing.assert_allclose(got_table, want_table, atol=1e-4)


class Breaks(gymnasium.Env):
    """Pays 1 a step, and fails at the 300th."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)
    n_steps = 0

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        self.n_steps += 1
        if self.n_steps == 300:
            raise RuntimeError("the cable is out")
        return 1, 1.0, False, False, {}


def test_what_was_learned_until_an_environment_fails_is_kept():
    learner = CompiledQLearning(2, 2, seed=0)
    with pytest.raises(RuntimeError, match="cable"):
        learner.train(TabularEnv(Breaks()), 1000)
    assert learner.n_steps == 299
    assert learner.table().max() > 1.0
