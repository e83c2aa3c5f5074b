"""`python -m rl_impls evaluate`: saved agents and tables play."""

import json

import numpy as np
import pytest

from rl_impls import PPO, PPOSettings, evaluate, load, train
from rl_impls.__main__ import main
from tests.rl_impls.commands.mistakes import assert_is_one_clear_line

CARTPOLE, GAME = "rl_impls/CartPole-v1", "TicTacToe-v0"


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "agent.npz"
    words = [CARTPOLE, "--agent", "ppo", "--steps", "640", "--set", "horizon=64", "--validate", "1"]
    with np.errstate(over="ignore"):  # of compiled code that runs as Python
        assert main(["train", *words, "--save", str(path)]) == 0
    return path


def test_a_saved_agent_plays_where_it_learned(agent, capsys):
    assert main(["evaluate", str(agent), "--episodes", "30", "--seed", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["env"], told["agent"], told["episodes"]) == (CARTPOLE, "ppo", 30)
    assert told["mean_return"] == evaluate(load(agent), CARTPOLE, 30, seed=2)
    assert told["lowest"] <= told["mean_return"] <= told["highest"]
    assert told["mean_length"] == told["mean_return"]  # a reward of 1 a step


def test_it_plays_elsewhere_and_its_best_checkpoint_where_one_says(agent, capsys):
    assert main(["evaluate", str(agent), "CartPole-v1", "--episodes", "3", "--best"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("ppo on CartPole-v1, 3 greedy episodes: mean return ")
    assert "mean length" in said


def test_a_table_plays_too(tmp_path, capsys):
    path = tmp_path / "table.npz"
    train(GAME, "list", steps=2000, seed=0).save(path)
    assert main(["evaluate", str(path), GAME, "--episodes", "200"]) == 0
    assert capsys.readouterr().out.startswith("list on TicTacToe-v0, 200 greedy episodes: mean")


def test_mistakes_are_one_clear_line(agent, tmp_path, capsys):
    nameless = tmp_path / "nameless.npz"
    made = PPO(CARTPOLE, PPOSettings(horizon=64))
    made.env_source = None
    made.save(nameless)
    table = tmp_path / "table.npz"
    train(GAME, "list", steps=10).save(table)
    for words, said in (
        ([nameless], "does not tell where its agent learned: name an environment after it"),
        ([table], "holds a table, which does not tell where it was learned"),
        ([table, "FrozenLake-v1"], "the learner's table has 19683 states"),
        ([table, GAME, "--best"], "--best is of deep agents"),
        ([agent, "Acrobot-v1"], "observations of 4 numbers and 2 actions, and here are"),
        ([agent, "CartPol-v1"], "did you mean CartPole-v"),
        ([agent, "--episodes", "0"], "is no whole number from 1 on"),
    ):
        assert_is_one_clear_line(["evaluate", *map(str, words)], said, capsys)


def test_a_file_that_holds_nothing_of_the_kind_is_told(tmp_path, capsys):
    text = tmp_path / "text"
    text.write_text("hello")
    no_best = tmp_path / "no_best.npz"
    PPO(CARTPOLE, PPOSettings(horizon=64)).save(no_best)
    for words, said in (
        ([tmp_path / "nothing"], "there is no saved agent at"),
        ([text], "name a file that save() wrote"),
        ([no_best, "--best"], "holds no validated checkpoint: leave --best out"),
    ):
        assert main(["evaluate", *map(str, words)]) == 1
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
