"""`tests.evidence.learning`: what is trained, what is left, and how a miss is told."""

import json
from dataclasses import replace

import pytest

from tests.evidence.learning import run as learning
from tests.evidence.learning.__main__ import main
from tests.evidence.learning.goals import GOALS, SEEDS, trainings
from tests.evidence.learning.records import from_line, made, read
from tests.evidence.learning.table import render
from tests.evidence.proof.facts import REPOSITORY

GOOD = {"sac": -150.0}


def told(words, mean_return=None):
    """What the command would say."""
    agent, steps, seed = (
        words[words.index(f"--{name}") + 1] for name in ("agent", "steps", "seed")
    )
    return {
        "env": words[3], "agent": agent, "seed": int(seed), "steps": int(steps), "seconds": 2.0,
        "mean_return": GOOD.get(agent, 500.0) if mean_return is None else mean_return,
        "games": 100,
    }  # fmt: skip


def recorded(training, mean_return=None):
    words = learning.argv(training)
    return made(training, words, told(words, mean_return))


@pytest.fixture
def quick(monkeypatch):
    asked = []

    def train(words):
        asked.append(words)
        return told(words)

    monkeypatch.setattr(learning, "by_command", train)
    return asked


def test_every_agent_is_trained_on_three_seeds_and_never_twice(quick, tmp_path, capsys):
    file = tmp_path / "deep.jsonl"
    assert main(["run", "--out", str(file), "--only", "sac"]) == 0
    assert len(quick) == len(SEEDS)
    assert main(["run", "--out", str(file)]) == 0
    assert len(quick) == len(SEEDS) * len(GOALS)
    assert main(["run", "--out", str(file)]) == 0
    assert len(quick) == len(read(file)) == 12
    assert "| reached |" in capsys.readouterr().out


def test_other_code_and_other_machines_are_trained_anew():
    records = [recorded(training) for training in trainings()]
    tree, machine = records[0].tree, records[0].machine
    assert learning.open_trainings(records, tree, machine) == []
    assert learning.open_trainings(records, "other", machine) == trainings()
    assert learning.open_trainings(records, tree, "other") == trainings()


def test_a_record_comes_back_as_it_was_written():
    record = recorded(trainings()[1])
    assert from_line(record.to_line()) == record
    assert record.settings["hidden"] == [256, 256]
    with pytest.raises(ValueError, match="reads schema 1"):
        from_line(json.dumps({"schema": 2}))


def test_a_miss_is_told_as_a_miss_and_fails(tmp_path, capsys):
    file = tmp_path / "deep.jsonl"
    file.write_text(recorded(trainings()[1], 474.9).to_line() + "\n")
    assert main(["run", "--out", str(file), "--minutes", "0"]) == 1
    said = capsys.readouterr().out
    assert "| dqn | `rl_impls/CartPole-v1` | 100,000 | 475 | 0 | 474.9 | missed by 1 of 1 |" in said
    assert "| sac | `rl_impls/Pendulum-v1` | 20,000 | −200 | – | – | not trained | – |" in said


def test_the_page_has_the_table_of_the_records():
    page = (REPOSITORY / "docs/agents.md").read_text(encoding="utf-8")
    for line in render(read(REPOSITORY / "docs/learning/deep.jsonl")).splitlines():
        assert line in page


def test_the_table_holds_the_code_that_was_trained_last():
    old = [replace(recorded(t, 1.0), tree="old", date="2020-01-01") for t in trainings()]
    new = [recorded(t) for t in trainings()]
    assert "missed" in render(old)
    assert "missed" not in render([*new, *old])
    assert {line.count("|") for line in render(new).splitlines()[:6]} == {9}
    assert render([]) == "Nothing was trained yet.\n"
