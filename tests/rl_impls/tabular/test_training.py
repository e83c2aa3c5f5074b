"""Training: exact steps, the same games from the same seeds, and players that win."""

import numpy as np
import pytest

from rl_impls import jit
from rl_impls.envs.games import rules
from rl_impls.envs.model import BatchEnv
from rl_impls.envs.tabular import make_tabular
from rl_impls.errors import MissingDependency, SettingError
from rl_impls.tabular import (
    LEARNERS,
    BatchQLearning,
    Exponential,
    Linear,
    OptimalQLearning,
    Settings,
)
from rl_impls.tabular.optimal import ACTIONS_FOR_NUMPY, ROWS_FOR_NUMPY
from rl_impls.tabular.training import evaluate, train_batch
from tests.rl_impls.tabular.oracle import Transition, table_after

STEP_BY_STEP = ("list", "optimal", "sparse")
IN_PYTHON = tuple(name for name in LEARNERS if name != "compiled")


def tictactoe(seed=0):
    return make_tabular("TicTacToe-v0", seed=seed)


def player(name, seed=0, **arguments):
    return LEARNERS[name](rules().n_states, rules().n_actions, seed=seed, **arguments)


@pytest.mark.parametrize("name", LEARNERS)
def test_training_makes_exactly_the_steps_asked_for_and_goes_on_inside_a_game(name):
    learner, env = player(name), tictactoe()
    trainings = [learner.train(env, n) for n in (1, 2, 97, 0)]
    assert [training.steps for training in trainings] == [1, 2, 97, 0]
    assert learner.n_steps == 100
    assert learner.n_episodes == sum(training.episodes for training in trainings)
    # Games of three to five moves; had each call begun a new one, fewer would have ended.
    assert 19 <= learner.n_episodes <= 33


@pytest.mark.parametrize("name", LEARNERS)
def test_an_episode_is_trained_to_its_end(name):
    learner, env = player(name), tictactoe()
    training = learner.train_episode(env)
    assert training.episodes == 1
    assert 3 <= training.steps <= 5
    assert not env.running


@pytest.mark.parametrize("name", STEP_BY_STEP)
def test_equal_seeds_play_equal_games_whatever_holds_the_table(name):
    def trained(name):
        learner, env = player(name, seed=1), tictactoe(seed=2)
        training = [learner.train(env, n) for n in (700, 1300)]
        return training, learner.table()

    (got, got_table), (want, want_table) = trained(name), trained("list")
    assert got == want
    np.testing.assert_allclose(got_table, want_table, atol=1e-4)


EVERY_STEP = Linear(0.5, 0.1, over=900, per="step")
IN_STRIDES = Linear(0.5, 0.1, over=900, per="step", stride=70)


@pytest.mark.parametrize("rate", [EVERY_STEP, IN_STRIDES], ids=["every step", "in strides"])
def test_the_schedules_of_both_loops_agree(rate):
    settings = Settings(learning_rate=rate, epsilon=Exponential(1.0, 0.99, 0.1, "episode"))
    tables = []
    for name in ("list", "optimal"):
        learner, env = player(name, settings=settings), tictactoe()
        for n_steps in (10, 190, 800):  # a stride is not begun anew with a call
            learner.train(env, n_steps)
        assert learner.alpha == rate.at(1000)
        tables.append(learner.table())
    np.testing.assert_array_equal(*tables)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_training_of_known_length_ends_where_its_schedules_do(name):
    learner, env = player(name, settings=Settings.for_training(6000)), tictactoe()
    assert (learner.alpha, learner.epsilon) == (0.5, 1.0)
    learner.train(env, 3000)
    assert learner.alpha == pytest.approx(0.265)
    assert learner.epsilon == pytest.approx(1.0 - 0.9 * 3000 / 3600)
    learner.train(env, 3000)
    assert (learner.alpha, learner.epsilon) == pytest.approx((0.03, 0.1))


def test_a_training_is_the_same_in_parts_and_whole():
    def trained(parts):
        learner, env = player("compiled", settings=Settings.for_training(5000)), tictactoe()
        for n_steps in parts:
            learner.train(env, n_steps)
        return learner.table()

    np.testing.assert_array_equal(trained([5000]), trained([1, 48, 51, 900, 4000]))


def test_the_compiled_loop_follows_a_schedule_of_strides():
    settings = Settings(IN_STRIDES, Linear(1.0, 0.1, 900, "step", stride=40), discount=0.9)
    learner, env, trace = player("compiled", settings=settings), tictactoe(), np.zeros((1200, 5))
    for part in (trace[:100], trace[100:]):
        learner.train(env, len(part), trace=part)
    stream = [
        Transition(int(s), int(a), r, int(s_t), bool(end), rules().legal[int(s_t)])
        for s, a, r, s_t, end in trace
    ]
    alphas = [IN_STRIDES.at(n) for n in range(1200)]
    want = table_after(rules().n_states, 9, stream, alphas, discount=0.9)
    np.testing.assert_allclose(learner.table(), want, atol=1e-4)


@pytest.mark.parametrize("per", ["step", "episode"])
def test_the_compiled_loop_learns_what_the_oracle_learns_from_the_games_it_played(per):
    n_steps = 3000
    trace = np.zeros((n_steps, 5))
    visits = np.zeros((rules().n_states, 9), np.uint32)
    learner = player("compiled", settings=Settings(epsilon=Linear(1.0, 0.1, 900, per)))
    training = learner.train(tictactoe(), n_steps, visits=visits, trace=trace)

    stream = [
        Transition(int(s), int(a), r, int(s_t), bool(end), rules().legal[int(s_t)])
        for s, a, r, s_t, end in trace
    ]
    assert all(t.a_tm1 in rules().legal[t.s_tm1] for t in stream)
    assert training.episodes == sum(t.terminated for t in stream)
    assert training.reward_sum == sum(t.r_t for t in stream)
    want = table_after(rules().n_states, 9, stream, alpha=0.3, discount=0.95)
    np.testing.assert_allclose(learner.table(), want, atol=1e-4)
    counted = np.zeros_like(visits)
    np.add.at(counted, ([t.s_tm1 for t in stream], [t.a_tm1 for t in stream]), 1)
    np.testing.assert_array_equal(visits, counted)


@pytest.mark.parametrize("name", ["list", "optimal", "numpy"])
def test_visits_count_every_learned_pair(name):
    visits = np.zeros((rules().n_states, 9), np.uint32)
    learner = player(name)
    learner.train(tictactoe(), 500, visits=visits)
    assert visits.sum() == 500
    assert (learner.table()[visits == 0] == 0).all()


def assert_plays_well(learner, win_rate, loss_rate):
    played = evaluate(learner, tictactoe(), 10_000, seed=1)
    assert played.episodes == 10_000
    assert played.win_rate >= win_rate
    assert played.loss_rate <= loss_rate


def test_compiled_training_of_a_million_steps_wins_nine_games_of_ten():
    learner = player("compiled")
    learner.train(tictactoe(), 1_000_000)
    assert_plays_well(learner, 0.90, 0.02)


def test_batched_training_of_a_million_steps_does_too():
    learner = player("compiled")
    training = train_batch(learner, BatchEnv(rules(), 128, seed=0), 1_000_000)
    assert training.steps == 1_000_064
    assert_plays_well(learner, 0.90, 0.02)


# A random player wins 58 % and loses 29 %. After 20,000 steps an agent is on its way.
@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_short_training_already_wins_three_games_of_four(name):
    learner = player(name)
    learner.train(tictactoe(), 20_000)
    assert_plays_well(learner, 0.75, 0.12)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_trains_on_a_batch_of_environments(name):
    learner = player(name)
    training = train_batch(learner, BatchEnv(rules(), 16, seed=0), 100)
    assert (training.steps, learner.n_steps) == (112, 112)
    assert learner.n_episodes == training.episodes
    assert np.isfinite(learner.table()).all()


def test_optimal_takes_the_path_that_fits_the_sizes():
    def kind(*sizes, **arguments):
        return type(OptimalQLearning(*sizes, **arguments)).__name__

    assert kind(10, ACTIONS_FOR_NUMPY - 1) == "OptimalOnLists"
    assert kind(10, ACTIONS_FOR_NUMPY) == "OptimalOnArray"
    assert kind(10, 4, batch_size=ROWS_FOR_NUMPY) == "OptimalOnArray"


def test_without_numba_compiled_says_what_to_install_and_the_rest_works(monkeypatch):
    monkeypatch.setattr(jit, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"needs numba.*pip install"):
        player("compiled")
    learner = player("numpy")
    assert train_batch(learner, BatchEnv(rules(), 8, seed=0), 80).steps == 80


def test_a_table_of_another_size_is_refused():
    learner = LEARNERS["list"](512, 9)
    with pytest.raises(SettingError, match="512 states and 9 actions, the environment 19683 and 9"):
        learner.train(tictactoe(), 10)


def test_counts_and_sizes_that_make_no_sense_are_refused():
    with pytest.raises(SettingError, match="cannot be negative, as -1 is"):
        player("compiled").train(tictactoe(), -1)
    with pytest.raises(SettingError, match="not 0 and 9"):
        LEARNERS["list"](0, 9)
    with pytest.raises(SettingError, match="at least 1 transition, not 0"):
        BatchQLearning(4, 2, buffer_size=0)
    with pytest.raises(SettingError, match="discount lies between 0 and 1"):
        Settings(discount=1.5)
