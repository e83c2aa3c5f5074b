"""`python -m rl_impls compare`: one table of learners and runtimes."""

import json
import subprocess
import sys

import pytest

from rl_impls.__main__ import main
from rl_impls.commands import compare
from rl_impls.commands.compare import Entry, Round, argv, entries, render


def result(seconds, **others):
    return {
        "seconds": seconds, "steps_per_s": 1000 / seconds, "peak_rss_bytes": 50_000_000,
        "mean_return": 0.9, "win_rate": 0.93, "loss_rate": 0.01,
    } | others  # fmt: skip


def told(seconds, **others):
    return Round(**result(seconds, **others))


def test_every_learner_meets_every_runtime_there_are_cores_for():
    assert [entry.runtime for entry in entries(["list"], 1)] == ["serial"]
    assert [entry.runtime for entry in entries(["list"], 2)] == ["serial", "parallel 2"]
    assert len(entries(["list", "numpy"], 4)) == 6


def test_each_runs_as_a_command_of_its_own():
    assert argv(Entry("sparse", 2), "Taxi-v3", 500, 7) == [
        sys.executable, "-m", "rl_impls", "train", "Taxi-v3", "--agent", "sparse",
        "--steps", "500", "--seed", "7", "--json", "-", "--runtime", "parallel", "--processes", "2",
    ]  # fmt: skip


def test_speeds_are_relative_to_lists_in_one_process():
    table = render(
        {
            Entry("numpy", 1): [told(4.0)],
            Entry("list", 1): [told(2.0)],
            Entry("list", 2): [told(1.0, win_rate=None, loss_rate=None)],
        }
    )
    assert table == "\n".join(
        [
            "agent  runtime     rounds  seconds  memory  steps/s  relative  return    won  lost",
            "numpy  serial      1         4.000   50 MB      250      0.50   0.900  93.0%  1.0%",
            "list   serial      1         2.000   50 MB      500      1.00   0.900  93.0%  1.0%",
            "list   parallel 2  1         1.000   50 MB    1,000      2.00   0.900      –     –",
        ]
    )


def test_a_slow_moment_spoils_one_round_and_not_the_table():
    # The yardstick of the second round met other work; so did nothing else.
    table = render(
        {
            Entry("list", 1): [told(2.0), told(6.0), told(2.0)],
            Entry("numpy", 1): [told(4.0), told(4.0), told(4.0)],
        }
    )
    relative = [line.split()[-4] for line in table.splitlines()[1:]]
    assert relative == ["1.00", "0.50"]


def test_every_round_has_a_seed_of_its_own(pretended, monkeypatch):
    pretended({"list": WELL})
    seeds = []
    pretended_run = subprocess.run

    def run(words, **options):
        seeds.append(words[words.index("--seed") + 1])
        return pretended_run(words, **options)

    monkeypatch.setattr(subprocess, "run", run)
    words = ["TicTacToe-v0", "--steps", "9", "--agent", "list", "--seed", "4", "--rounds", "2"]
    assert main(["compare", *words]) == 0
    assert seeds == ["4", "5"]


def test_the_table_has_a_line_for_each(capsys):
    assert (
        main(["compare", "TicTacToe-v0", "--steps", "2000", "--agent", "sparse", "--rounds", "1"])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["agent", "runtime"]
    assert all(line.startswith("sparse") for line in lines[1:])
    assert len(lines) >= 2


@pytest.fixture
def pretended(monkeypatch):
    """Trainings that end as told, without training."""

    def pretend(ends):
        def run(words, **_):
            name = words[words.index("--agent") + 1]
            if ends[name] is KeyboardInterrupt:
                raise KeyboardInterrupt
            return subprocess.CompletedProcess(words, *ends[name])

        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setattr(compare, "default_processes", lambda: 1)

    return pretend


WELL = (0, json.dumps(result(1.0)), "")
AGENTS = ["--agent", "list", "--agent", "sparse", "--agent", "numpy"]


def test_a_training_that_fails_is_named_and_the_others_are_compared(pretended, capsys):
    pretended({"list": WELL, "sparse": (1, "", "some\nrl_impls: no memory.\n"), "numpy": WELL})
    assert main(["compare", "TicTacToe-v0", "--steps", "9", *AGENTS]) == 1
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()] == ["agent", "list", "numpy"]
    assert "sparse, serial failed (rl_impls: no memory.): repeat it with python -m" in said.err


def test_ctrl_c_shows_what_is_done(pretended, capsys):
    pretended({"list": WELL, "sparse": WELL, "numpy": KeyboardInterrupt})
    assert main(["compare", "TicTacToe-v0", "--steps", "9", *AGENTS]) == 130
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()] == ["agent", "list", "sparse"]
    assert said.err.endswith("interrupted.\n")


@pytest.mark.parametrize("words", [["--steps", "x"], ["--steps", "5", "--agent", "nobody"]])
def test_mistakes_end_with_exit_code_2(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["compare", "TicTacToe-v0", *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
