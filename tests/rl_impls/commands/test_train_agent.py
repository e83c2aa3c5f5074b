"""`python -m rl_impls train` with deep agents: as with tables, and by the best checkpoint."""

import json
from dataclasses import replace
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest

from rl_impls.__main__ import main
from rl_impls.agents.dqn import DQN
from rl_impls.agents.evaluation import BestCheckpoint, Played
from rl_impls.commands import train_agent
from rl_impls.commands.result import field_names
from rl_impls.registry import AGENTS, NUMPY, agent_type, backends_of, preset_for, settings_type
from rl_impls.replay.prioritised import PrioritisedReplay
from tests.rl_impls.commands.mistakes import assert_is_one_clear_line

CARTPOLE, PENDULUM = "rl_impls/CartPole-v1", "rl_impls/Pendulum-v1"
ON_NUMPY = [name for name in AGENTS if NUMPY in backends_of(name)]


def train(*words):
    return main(["train", *words])


def result_of(capsys, *words):
    assert train(*words, "--json", "-") == 0
    return json.loads(capsys.readouterr().out)


def test_the_deep_agents_are_those_of_the_package():
    for name in ON_NUMPY:
        assert agent_type(name).name == name
        assert agent_type(name).settings_type is settings_type(name)


@pytest.mark.parametrize("agent", ON_NUMPY)
def test_every_agent_trains_and_tells_what_a_learner_of_a_table_does(agent, capsys):
    continuous = agent in ("sac", "td3")
    env = PENDULUM if continuous else CARTPOLE
    result = result_of(capsys, env, "--agent", agent, "--steps", "1200", "--seed", "1")
    assert set(result) == set(field_names())
    assert (result["steps"], result["agent"], result["env"]) == (1200, agent, env)
    assert result["backend"] == "numpy"
    assert (result["games"], result["win_rate"], result["runtime"]) == (100, None, "serial")
    assert result["steps_per_s"] == pytest.approx(1200 / result["seconds"])
    # An episode of Pendulum has 200 steps; a pole that nobody balances falls within about 20.
    assert result["episodes"] == 6 if continuous else 5 < result["episodes"] < 150
    assert -2000 < result["mean_return"] <= 500


def test_gymnasiums_own_environments_train_too_and_a_batch_steps_as_a_whole(capsys):
    result = result_of(capsys, "CartPole-v1", "--agent", "ppo", "--steps", "30")
    assert result["steps"] == 32


def test_equal_seeds_give_equal_results(capsys):
    def result(seed):
        words = [CARTPOLE, "--agent", "dqn", "--steps", "1100", "--seed", str(seed)]
        whole = result_of(capsys, *words)
        return whole["episodes"], whole["mean_return"]

    assert result(1) == result(1) != result(2)


def test_what_is_played_at_the_end_is_the_best_that_was_validated(monkeypatch, capsys):
    played = []

    def scripted(agent, env_name, episodes, *, seed):
        """The third validation is the best."""
        played.append((episodes, seed, agent.parameters()[0].copy()))
        return Played(np.array([{3: 7.0}.get(len(played), 1.0)]), np.array([9]), True)

    monkeypatch.setattr(train_agent, "play", scripted)
    result_of(capsys, CARTPOLE, "--agent", "ppo", "--steps", "81920")
    *validations, (episodes, seed, parameters) = played
    assert len(validations) == train_agent.N_VALIDATIONS + 1
    assert {each[:2] for each in validations} == {(20, train_agent.VALIDATION_SEED)}
    assert (episodes, seed) == (100, train_agent.EVALUATION_SEED)
    np.testing.assert_array_equal(parameters, validations[2][2])
    assert not np.array_equal(parameters, validations[-1][2])


class Counted(gymnasium.Env[Any, Any]):
    """Nothing happens in it for 100 steps."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    made: ClassVar[list[Any]] = []

    def __init__(self):
        self.n_steps, self.is_over = 0, True
        self.made.append(self)

    def reset(self, *, seed=None, options=None):
        self.is_over = False
        return np.zeros(2, np.float32), {}

    def step(self, action):
        assert not self.is_over
        self.n_steps += 1
        self.is_over = self.n_steps % 100 == 0
        return np.zeros(2, np.float32), 1.0, False, self.is_over, {}


@pytest.fixture
def counted(monkeypatch):
    monkeypatch.setattr(Counted, "made", [])
    gymnasium.register("Counted-v0", lambda **_: Counted(), max_episode_steps=100)
    yield "Counted-v0"
    del gymnasium.registry["Counted-v0"]


@pytest.mark.parametrize(
    ("steps", "share", "episodes"),
    [(10_000, None, 5 + 20), (10_000, "0.5", 10 + 40), (10_000, "0", 0), (1000, None, 0)],
)
def test_validations_take_no_more_steps_than_their_share(
    steps, share, episodes, counted, monkeypatch, capsys
):
    monkeypatch.setattr(train_agent, "EPISODES", 1)
    words = [counted, "--agent", "dqn", "--steps", str(steps), "--set", "learning_starts=100000"]
    words += [] if share is None else ["--validate", share]
    result_of(capsys, *words)
    trained, *played, last = (env.n_steps for env in counted_steps())
    assert (trained, last) == (steps, 100)
    assert sum(played) <= (0.25 if share is None else float(share)) * steps
    assert len([n for n in played if n]) <= episodes
    # Nothing is stepped once its episode is over, and what can be afforded is played.
    assert set(played) <= {0, 100}
    assert bool(sum(played)) == bool(episodes)


def counted_steps():
    """The environments that were stepped, in the order in which they were made."""
    return [env for env in Counted.made if env.n_steps]


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--set", "discount=0.9", "--set", "hidden=8,4"], {"discount": 0.9, "hidden": (8, 4)}),
        (["--set", "gamma=0.9", "--set", "buffer_size=1e3"], {"discount": 0.9, "buffer": 1000}),
        (["--set", "double=no", "--set", "batch=1_0"], {"double": False, "batch": 10}),
        (["--set", "batch=7", "--set", "batch=9"], {"batch": 9}),
        (["--prioritised", "--set", "beta_over=5"], {"prioritised": True, "beta_over": 5}),
    ],
)
def test_every_setting_can_be_set(words, settings, tmp_path):
    file = tmp_path / "agent.npz"
    assert train(CARTPOLE, "--agent", "dqn", "--steps", "20", "--save", str(file), *words) == 0
    kept = DQN.load(file).settings
    assert {name: getattr(kept, name) for name in settings} == settings


def test_what_is_not_set_is_the_presets(tmp_path):
    file = tmp_path / "agent.npz"
    words = ["--agent", "dqn", "--steps", "20", "--save", str(file), "--set", "batch=8"]
    assert train(CARTPOLE, *words) == 0
    preset = preset_for("dqn", CARTPOLE).settings
    assert DQN.load(file).settings == replace(preset, batch=8)  # type: ignore[call-arg]


def test_a_saved_agent_can_go_on_and_holds_the_best_checkpoint(tmp_path, capsys):
    file = tmp_path / "agent.npz"
    words = [CARTPOLE, "--agent", "dqn", "--steps", "1100", "--save", str(file)]
    assert train(*words, "--validate", "2") == 0
    assert "100 greedy games: mean return" in capsys.readouterr().out
    checkpoint = BestCheckpoint(lambda agent: 0.0)
    agent = DQN.load(file, None, checkpoint)
    assert agent.n_steps == 1100
    assert checkpoint.n_validations > 20
    checkpoint.restore_best(agent)


def test_a_training_that_is_resumed_ends_as_if_it_had_never_stopped(tmp_path):
    def trained(name, *steps):
        words = [CARTPOLE, "--agent", "dqn", "--save", str(tmp_path / name), "--steps"]
        for i, n in enumerate(steps):
            assert train(*words, n, *["--resume"] * (i > 0)) == 0
        return DQN.load(tmp_path / name)

    through, halves = trained("through", "1500"), trained("halves", "750", "1500")
    assert through.n_steps == halves.n_steps == 1500
    for key, array in through.state().items():
        np.testing.assert_array_equal(array, halves.state()[key], err_msg=key)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([CARTPOLE, "--agent", "ddqn"], "there is no agent 'ddqn': choose list, "),
        ([CARTPOLE, "--agent", "sac"], "SAC chooses continuous actions, and these"),
        ([PENDULUM, "--agent", "dqn"], "DQN chooses among numbered actions, and these"),
        (["TicTacToe-v0", "--agent", "dqn"], "a batch cannot hold observations from Discrete"),
        (["CartPole", "--agent", "dqn"], "did you mean CartPole-v"),
        ([CARTPOLE, "--agent", "dqn", "--runtime", "parallel"], "dqn trains with --runtime serial"),
        ([CARTPOLE, "--agent", "dqn", "--processes", "2"], "belongs to --runtime parallel"),
        ([CARTPOLE, "--agent", "sac", "--backend", "jax"], "sac learns with --backend numpy, and"),
        ([CARTPOLE, "--agent", "list", "--backend", "jax"], "list learns a table, and not with"),
        ([CARTPOLE, "--agent", "pixel-dqn", "--backend", "numpy"], "learns with --backend torch"),
        ([CARTPOLE, "--agent", "list"], "a table cannot hold observations"),
        ([CARTPOLE, "--agent", "ppo", "--prioritised"], "--prioritised is for --agent dqn"),
        (["TicTacToe-v0", "--agent", "list", "--patience", "2"], "--patience is for deep agents"),
        (["TicTacToe-v0", "--agent", "list", "--validate", "1"], "--validate is for deep agents"),
        ([CARTPOLE, "--agent", "dqn", "--validate", "-1"], "is no share: give a number from 0 on"),
        (
            [CARTPOLE, "--agent", "dqn", "--set", "gama=1"],
            "dqn has no setting 'gama': did you mean",
        ),
        ([CARTPOLE, "--agent", "dqn", "--set", "discont=1"], "did you mean discount?"),
        ([CARTPOLE, "--agent", "dqn", "--set", "batch"], "has no value: write NAME=VALUE"),
        ([CARTPOLE, "--agent", "dqn", "--set", "batch=2.5"], "batch is a whole number, and not"),
        ([CARTPOLE, "--agent", "dqn", "--set", "double=maybe"], "double is true or false"),
        ([CARTPOLE, "--agent", "dqn", "--set", "hidden=big"], "hidden is whole numbers with"),
        ([CARTPOLE, "--agent", "dqn", "--set", "tau=0.1"], "dqn has no setting 'tau'"),
        ([CARTPOLE, "--agent", "dqn", "--set", "discount=3"], "discount lies between 0 and 1"),
        ([CARTPOLE, "--agent", "dqn", "--save", "a", "--resume", "--set", "batch=2"], "keeps its"),
        ([CARTPOLE, "--agent", "dqn", "--log", "no/file"], "make it first"),
        ([CARTPOLE, "--agent", "dqn", "--save", "no/file"], "make it first"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(words, said, capsys):
    assert_is_one_clear_line(["train", *words, "--steps", "9"], said, capsys)


def test_a_training_that_no_longer_gets_better_is_over_when_patience_is(monkeypatch, capsys):
    scores = iter([5.0, 7.0, *[1.0] * 100])
    monkeypatch.setattr(
        train_agent,
        "play",
        lambda *_, **__: Played(np.array([next(scores)]), np.array([9]), True),
    )
    words = [CARTPOLE, "--agent", "ppo", "--steps", "81920", "--patience", "3"]
    result = result_of(capsys, *words)
    # Forty validations would have been made, each after 2048 steps; the fifth was the last.
    assert result["steps"] == 5 * 2048


def test_dqn_trains_with_priorities_and_goes_on_with_them(tmp_path, capsys):
    file = tmp_path / "agent.npz"
    words = [CARTPOLE, "--agent", "dqn", "--prioritised", "--save", str(file), "--steps"]
    assert result_of(capsys, *words, "1100")["steps"] == 1100
    agent = DQN.load(file)
    assert agent.settings.prioritised
    assert isinstance(agent.replay, PrioritisedReplay)
    assert np.ptp(agent.replay.priorities()) > 0.0
    assert result_of(capsys, *words, "1200", "--resume")["steps"] == 100


@pytest.mark.parametrize(
    ("env", "agent", "runtime"),
    [
        ("TicTacToe-v0", "list", "serial"),
        ("TicTacToe-v0", "list", "parallel"),
        (CARTPOLE, "dqn", "serial"),
        (CARTPOLE, "dqn", "actor-learner"),
    ],
)
def test_a_log_has_the_performance_of_the_training(env, agent, runtime, tmp_path, capsys):
    log = tmp_path / "log.csv"
    words = [env, "--agent", agent, "--runtime", runtime, "--steps", "6400", "--log", str(log)]
    assert train(*words) == 0
    columns, *rows = (line.split(",") for line in log.read_text().splitlines())
    assert columns == ["steps", "steps_per_s", "cpu_percent", "rss_bytes"]
    steps = [int(row[0]) for row in rows]
    assert steps == sorted(steps)
    assert 1 <= len(steps) <= 100
    assert steps[-1] <= 6400
    assert all(int(row[3]) > 10_000_000 for row in rows)
