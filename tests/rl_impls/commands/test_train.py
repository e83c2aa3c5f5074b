"""`python -m rl_impls train`: data on stdout, a bar on stderr, one line for a mistake."""

import json
import os
import subprocess
import sys

import pytest

from rl_impls import registry
from rl_impls.__main__ import main
from rl_impls.tabular import LEARNERS
from tests.rl_impls.commands.mistakes import assert_is_one_clear_line

WANTED = {
    "steps", "seconds", "steps_per_s", "episodes", "win_rate", "mean_return", "peak_rss_bytes",
}  # fmt: skip


def train(*words):
    return main(["train", *words])


def test_the_tabular_agents_are_the_learners():
    assert set(registry.LEARNERS) == {kind.name for kind in LEARNERS.values()}


@pytest.mark.parametrize("agent", registry.LEARNERS)
def test_every_agent_trains_and_stdout_holds_nothing_but_the_result(agent, capsys):
    words = ["TicTacToe-v0", "--agent", agent, "--steps", "3000", "--seed", "1", "--json", "-"]
    assert train(*words) == 0
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert set(result) >= WANTED
    assert result["steps"] == 3000
    assert result["steps_per_s"] == pytest.approx(3000 / result["seconds"])
    assert 3000 / 5 - 1 <= result["episodes"] <= 1000
    assert 0.4 < result["win_rate"] < 1.0
    assert -1.0 < result["mean_return"] < 1.0
    assert result["peak_rss_bytes"] > 10_000_000
    assert "3,000 of 3,000 steps" in said.err


def test_equal_seeds_give_equal_results(capsys):
    def result(seed):
        words = ["TicTacToe-v0", "--agent", "batch", "--steps", "4000", "--json", "-"]
        train(*words, "--seed", str(seed))
        whole = json.loads(capsys.readouterr().out)
        return whole["episodes"], whole["mean_return"]

    assert result(1) == result(1) != result(2)


def test_a_program_trains_in_parallel_with_exactly_its_steps(tmp_path):
    file, table = tmp_path / "result.json", tmp_path / "table.npz"
    words = ["TicTacToe-v0", "--agent", "optimal", "--steps", "20_001", "--runtime", "parallel"]
    words += ["--processes", "2", "--json", str(file), "--save", str(table)]
    ended = subprocess.run(
        [sys.executable, "-m", "rl_impls", "train", *words], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    result = json.loads(file.read_text())
    assert (result["steps"], result["processes"], result["runtime"]) == (20_001, 2, "parallel")
    assert result["win_rate"] > 0.75
    assert "20,001 steps in" in ended.stdout
    assert LEARNERS["list"].load(table).n_steps == 20_001


def test_a_training_that_never_began_replaces_no_saved_table(tmp_path, monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    table = tmp_path / "table.npz"
    words = ["TicTacToe-v0", "--agent", "list", "--steps", "50", "--save", str(table)]
    assert train(*words) == 0
    before = table.read_bytes()
    monkeypatch.setattr(LEARNERS["list"], "train", interrupt)
    assert train(*words) == 130
    assert table.read_bytes() == before
    assert capsys.readouterr().err.endswith("interrupted.\n")


def test_a_reader_that_has_gone_is_no_reason_to_complain():
    words = ["TicTacToe-v0", "--agent", "list", "--steps", "50", "--json", "-"]
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-m", "rl_impls", "train", *words],
        stdout=write, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(write)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("env", ["FrozenLake-v1", "CliffWalking-v1", "TwoArmedBandit-v0"])
def test_other_environments_have_a_return_but_no_win(env, capsys):
    assert train(env, "--agent", "list", "--steps", "500", "--json", "-") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["win_rate"] is None
    assert isinstance(result["mean_return"], float)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["TicTacToe-v0", "--agent", "lists", "--steps", "9"], "there is no agent 'lists': choose"),
        (["TicTacToe-v0", "--agent", "list", "--steps", "0"], "'0' is no whole number from 1 on"),
        (["TicTacToe-v0", "--agent", "list", "--steps", "1e6"], "'1e6' is no whole number"),
        (["TicTacToe-v0", "--agent", "list"], "required: --steps"),
        (["TicTacToe-v0", "--agent", "list", "--steps", "9", "--seed", "-1"], "from 0 on"),
        (["TicTacToe-v0", "--agent", "list", "--steps", "9", "--runtime", "mpi"], "no runtime"),
        (["TicTacToe-v0", "--agent", "list", "--steps", "9", "--processes", "2"], "belongs to"),
        (["TicTacToe", "--agent", "list", "--steps", "9"], "did you mean TicTacToe-v0?"),
        (["CartPole-v1", "--agent", "list", "--steps", "9"], "a table cannot hold observations"),
        (["TicTacToe-v0", "--agent", "list", "--steps", "9", "--json", "no/file"], "make it first"),
        (["TicTacToe-v0", "--agent", "list", "--steps", "9", "--save", "/"], "/ is a folder"),
        (["TicTacToe-v0", "--agent", "list", "--steps", "9" * 20], "too large a number"),
        (["GymV21Environment-v0", "--agent", "list", "--steps", "9"], "install what it needs"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_line_and_exit_code_2(words, said, capsys):
    assert_is_one_clear_line(["train", *words], said, capsys)
