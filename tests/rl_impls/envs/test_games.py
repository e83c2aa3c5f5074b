"""Tic-tac-toe: the tables against the rules of the game, and its three forms against each other."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rl_impls.envs  # noqa: F401
from rl_impls.envs.compiled import reset_state, step_rows
from rl_impls.envs.games import AGENT, DRAWN, GOES_ON, OPPONENT, TwoArmedBandit, render_board, rules
from rl_impls.envs.model import DRAWS, BatchEnv
from rl_impls.envs.tabular import make_tabular
from rl_impls.tabular import LEARNERS, Constant, Settings

X_WINS = {"XXX......", "...XXX...", "X..X..X..", "X...X...X", "..X.X.X.."}


def state_of(board):
    return sum(".XO".index(mark) * 3**cell for cell, mark in enumerate(board))


@pytest.mark.parametrize("board", sorted(X_WINS))
def test_three_in_a_line_win(board):
    assert rules().tables.standing[state_of(board)] == AGENT
    assert rules().tables.standing[state_of(board.replace("X", "O"))] == OPPONENT


@pytest.mark.parametrize(
    ("board", "standing"),
    [(".........", GOES_ON), ("XX.......", GOES_ON), ("XOXXOOOXX", DRAWN), ("XOXOXOXOX", AGENT)],
)
def test_a_board_without_a_line_goes_on_until_it_is_full(board, standing):
    assert rules().tables.standing[state_of(board)] == standing


def test_the_legal_moves_are_the_empty_cells_until_the_game_ends():
    assert rules().legal[state_of("X.O......")] == (1, 3, 4, 5, 6, 7, 8)
    assert rules().legal[state_of("XXX......")] == ()
    masks = np.array([[a in legal for a in range(9)] for legal in rules().legal])
    np.testing.assert_array_equal(rules().masks, masks)


@pytest.mark.parametrize(
    ("board", "action", "after", "reward", "terminated"),
    [
        ("XX.OO....", 2, "XXXOO....", 1.0, True),
        ("XOXXOO.XO", 6, "XOXXOOXXO", 1.0, True),
        ("XOXOXXO.O", 7, "XOXOXXOXO", 0.0, True),
        ("X.XXOO.OX", 6, "X.XXOOXOX", 1.0, True),
        ("XX.OO..XO", 6, "XXOOO.XXO", 0.0, False),
    ],
)
def test_a_move_and_its_reply(board, action, after, reward, terminated):
    s_t, r_t, ended = rules().step(state_of(board), action, draw=0)
    assert (render_board(s_t), r_t, ended) == (render_board(state_of(after)), reward, terminated)


def test_a_reply_that_completes_a_line_loses():
    # The last draw takes the last empty cell.
    s_t, r_t, terminated = rules().step(state_of("X..X..OO."), 1, draw=DRAWS - 1)
    assert (s_t, r_t, terminated) == (state_of("XX.X..OOO"), -1.0, True)


def test_a_coin_decides_who_opens_and_every_opening_is_as_likely():
    draws = np.random.default_rng(0).integers(DRAWS, size=18_000, dtype=np.uint32)
    states, counts = np.unique(rules().reset_batch(draws), return_counts=True)
    assert states.tolist() == [0, *(2 * 3**cell for cell in range(9))]
    # 9000 and 1000 each; 5 standard deviations are 336 and 154.
    assert counts[0] == pytest.approx(9000, abs=336)
    assert counts[1:] == pytest.approx(np.full(9, 1000), abs=154)


def random_moves(n):
    """Boards where the game goes on, a legal move on each, and the chance that follows."""
    rng = np.random.default_rng(1)
    open_boards = np.flatnonzero(rules().tables.standing == GOES_ON)
    states = rng.choice(open_boards, n)
    actions = np.array([rng.choice(rules().legal[s]) for s in states])
    return states, actions, rng.integers(DRAWS, size=(2, n), dtype=np.uint32)


def test_single_batched_and_compiled_games_follow_the_same_draws():
    states, actions, (draws, reset_draws) = random_moves(4000)
    batched = rules().step_batch(states, actions, draws)
    single = [
        rules().step(s, a, d)
        for s, a, d in zip(states.tolist(), actions.tolist(), draws.tolist(), strict=True)
    ]
    assert list(zip(*(column.tolist() for column in batched), strict=True)) == single

    goes_on, s_t, r_t = states.copy(), np.zeros_like(states), np.zeros(len(states), np.float32)
    terminated = np.zeros(len(states), np.bool_)
    n_ended, reward_sum = step_rows(
        rules().tables, goes_on, actions, draws, reset_draws, s_t, r_t, terminated
    )
    for got, want in zip((s_t, r_t, terminated), batched, strict=True):
        np.testing.assert_array_equal(got, want)
    assert (n_ended, reward_sum) == (terminated.sum(), r_t.sum())
    resets = rules().reset_batch(reset_draws)
    np.testing.assert_array_equal(goes_on, np.where(terminated, resets, s_t))
    assert resets.tolist() == [rules().reset(draw) for draw in reset_draws.tolist()]


def test_compiled_rules_can_be_called_from_python_too():
    assert [reset_state(rules().tables, draw) for draw in (0, DRAWS - 1)] == [0, 2 * 3**8]


@pytest.mark.parametrize("name", ["TicTacToe-v0", "TwoArmedBandit-v0"])
def test_gymnasium_finds_nothing_to_complain_about(name):
    check_env(gymnasium.make(name).unwrapped)


def episodes(env, n, seed):
    """The observations of n episodes in which the first legal cell is always taken."""
    games = []
    for i in range(n):
        state, info = env.reset(seed=seed if i == 0 else None)
        game, terminated = [state], False
        while not terminated:
            state, _, terminated, _, info = env.step(int(info["action_mask"].argmax()))
            game.append(state)
        games.append(game)
    return games


def test_equal_seeds_give_equal_episodes_and_resets_do_not_repeat_one():
    first, second, other = (episodes(gymnasium.make("TicTacToe-v0"), 20, s) for s in (5, 5, 6))
    assert first == second
    assert first != other
    assert len({tuple(game) for game in first}) > 10


def test_an_illegal_move_forfeits_the_game():
    env = gymnasium.make("TicTacToe-v0")
    env.reset(seed=0)
    before = env.step(4)[0]
    assert env.step(4)[:4] == (before, -1.0, True, False)


def test_a_step_without_an_episode_is_refused():
    env = gymnasium.make("TicTacToe-v0").unwrapped
    with pytest.raises(ValueError, match="call reset"):
        env.step(0)


def test_a_board_is_rendered_in_three_lines():
    assert render_board(state_of("X.O.X...O")) == "X . O\n. X .\n. . O"


# The two-armed bandit.


def test_an_arm_pays_as_often_as_it_says_in_all_forms():
    model = TwoArmedBandit((0.2, 0.7))
    rng = np.random.default_rng(0)
    draws = rng.integers(DRAWS, size=4000, dtype=np.uint32)
    states, actions = np.zeros(4000, np.int64), rng.integers(2, size=4000)
    _, batched, terminated = model.step_batch(states, actions, draws)
    single = [model.step(0, a, d)[1] for a, d in zip(actions, draws.tolist(), strict=True)]
    compiled = np.zeros(4000, np.float32)
    step_rows(
        model.tables, states, actions, draws, draws, states.copy(), compiled, terminated.copy()
    )
    np.testing.assert_array_equal(batched, single)
    np.testing.assert_array_equal(batched, compiled)
    assert terminated.all()
    for arm, chance in enumerate((0.2, 0.7)):
        # About 2000 pulls each: 5 standard deviations are at most 0.056.
        assert (batched[actions == arm] > 0).mean() == pytest.approx(chance, abs=0.056)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_finds_the_rigged_arm(name):
    env = make_tabular("TwoArmedBandit-v0", seed=0)
    settings = Settings(learning_rate=Constant(0.05), epsilon=Constant(0.5))
    learner = LEARNERS[name](env.n_states, env.n_actions, settings=settings, seed=0)
    assert learner.train(env, 1000).episodes == 1000
    np.testing.assert_allclose(learner.table(), [[-0.8, 0.8]], atol=0.4)


def test_a_chance_beyond_one_is_refused():
    with pytest.raises(ValueError, match=r"between 0 and 1, not at 1\.5"):
        TwoArmedBandit((0.5, 1.5))


# Batched environments and Gymnasium's vector interface over them.


def first_legal(states):
    return rules().masks[states].argmax(axis=1)


def games(env, n_rounds=60):
    trail = [env.states.copy()]
    for _ in range(n_rounds):
        step = env.step(first_legal(env.states))
        trail += [step.s_t.copy(), step.r_t.copy(), step.terminated.copy(), env.states.copy()]
    return trail


def test_compiled_and_numpy_steps_play_the_same_games():
    forms = (BatchEnv(rules(), 7, seed=3, compile_step=compiles) for compiles in (True, False))
    for got, want in zip(*map(games, forms), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_reset_without_a_seed_goes_on_with_the_stream():
    env = BatchEnv(rules(), 200, seed=3)
    first = env.states.copy()
    assert (env.reset() != first).any()
    np.testing.assert_array_equal(env.reset(seed=3), first)


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="at least 1 environment, not 0"):
        BatchEnv(rules(), 0)


def test_the_vector_interface_resets_in_the_same_step_and_keeps_the_last_state():
    env = gymnasium.make_vec("TicTacToe-v0", num_envs=16)
    states, info = env.reset(seed=1)
    ended = 0
    for _ in range(20):
        np.testing.assert_array_equal(info["action_mask"], rules().masks[states])
        states, rewards, terminated, truncated, info = env.step(first_legal(states))
        assert not truncated.any()
        assert env.observation_space.contains(states)
        if terminated.any():
            last = info["final_obs"][info["_final_obs"]]
            assert not rules().masks[last].any()
            assert rules().masks[states[terminated]].any()
        assert (rewards[~terminated] == 0).all()
        ended += terminated.sum()
    assert ended > 16


def test_in_a_batch_too_an_illegal_move_forfeits_the_game():
    env = gymnasium.make_vec("TicTacToe-v0", num_envs=3)
    env.reset(seed=1)
    states, *_ = env.step(np.array([4, 4, 4]))
    free = first_legal(states)
    actions = np.array([4, free[1], free[2]])
    _, rewards, terminated, _, info = env.step(actions)
    assert (rewards[0], terminated[0], info["final_obs"][0]) == (-1.0, True, states[0])


def test_one_seed_for_a_batch():
    with pytest.raises(ValueError, match="give one seed"):
        gymnasium.make_vec("TicTacToe-v0", num_envs=2).reset(seed=[1, 2])  # type: ignore[arg-type]
