"""`tests.evidence.learning`: what is trained, what is left, and how both sides' play is told."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest

from rl_impls.schedules import Constant
from rl_impls.tabular.learner import Settings
from tests.evidence.learning import run as learning
from tests.evidence.learning import tasks as known
from tests.evidence.learning.__main__ import main
from tests.evidence.learning.code import name_of
from tests.evidence.learning.played import Played
from tests.evidence.learning.records import append, code_of, from_line, made, read
from tests.evidence.learning.table import render
from tests.evidence.learning.tasks import OURS, SB3, SEEDS, TASKS, TEXTBOOK, task_named
from tests.evidence.learning.textbook import learned, mean_return
from tests.evidence.proof.facts import REPOSITORY

ACROBOT = "ppo Acrobot-v1"


@pytest.fixture
def quick(monkeypatch):
    asked = []

    def train(words):
        asked.append(words)
        return Played(final=-90.0, best=-80.0, seconds=1.0)

    monkeypatch.setattr(learning, "by_command", train)
    return asked


def recorded(task, side, seed, final, best=None):
    return made(task, side, seed, Played(final, final if best is None else best, 1.0))


def both_sides(task, ours, theirs):
    sides = ((OURS, ours), (SB3, theirs))
    return [recorded(task, side, i, x) for side, xs in sides for i, x in enumerate(xs)]


def test_both_sides_of_a_task_are_trained_on_ten_seeds_and_never_twice(quick, tmp_path, capsys):
    file = tmp_path / "deep.jsonl"
    words = ["run", "--out", str(file), "--only", ACROBOT]
    main([*words, "--seeds", "2"])
    assert [(w[5], w[7]) for w in quick] == [(OURS, "0"), (SB3, "0"), (OURS, "1"), (SB3, "1")]
    main([*words, "--side", OURS])
    main(words)
    main(words)
    assert len(quick) == len(read(file)) == 2 * len(SEEDS)
    said = capsys.readouterr().out
    assert f"| {ACROBOT} | 102,400 | 10 | −90.0 [−90.0, −90.0] |" in said
    assert "| 0.50 [0.50, 0.50] | level |" in said


def test_a_whole_name_is_that_task_alone_and_a_part_all_that_have_it():
    def meant(part):
        return [task.name for task in TASKS if learning.is_meant(task, [part])]

    assert meant("dqn Acrobot-v1") == ["dqn Acrobot-v1"]
    assert meant("dqn Acrobot") == ["dqn Acrobot-v1", "qr-dqn Acrobot-v1"]


def test_a_task_whose_extra_is_missing_is_left_out_with_a_sentence(
    quick, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(learning, "find_spec", lambda name: None)
    words = ["run", "--out", str(tmp_path / "deep.jsonl"), "--seeds", "1", "--only"]
    main([*words, "ppo LunarLander-v3"])
    assert quick == []
    said = "LunarLander-v3 was left out: it needs Box2D, which is not installed: make setup-extras"
    assert said in capsys.readouterr().out
    main([*words, "ppo CartPole-v1"])
    assert len(quick) == 2


def test_other_code_and_settings_are_trained_anew_and_the_peer_only_with_other_versions(quick):
    sides = [(task, side) for task in TASKS for side in task.sides]
    records = [recorded(task, side, seed, 0.0) for task, side in sides for seed in SEEDS]
    assert learning.open_trainings(records) == []
    changed = [replace(record, code="bbbb") for record in records if record.side == OURS]
    others = [record for record in records if record.side != OURS]
    left = learning.open_trainings([*changed, *others])
    assert {side for _, side, _ in left} == {OURS}
    assert len(left) == len(changed)
    assert len(learning.open_trainings([replace(r, settings={}) for r in records])) == len(records)
    assert len(learning.open_trainings([replace(r, machine="") for r in records])) == len(records)


def test_agents_are_not_trained_again_for_what_changes_in_tables(monkeypatch):
    monkeypatch.setattr(
        "tests.evidence.learning.records.name_of", lambda package, parts: " ".join(parts)
    )
    of_agent, of_table = (code_of(task, OURS).split() for task in (task_named(ACROBOT), TASKS[0]))
    assert {"envs", "schedules.py"} < set(of_agent) & set(of_table)
    assert {"agents", "nets", "replay"} == set(of_agent) - set(of_table)
    assert {"api.py", "tabular"} == set(of_table) - set(of_agent)


def test_what_is_only_said_of_the_code_is_no_other_code(tmp_path):
    def named(text):
        (tmp_path / "rules.py").write_text(text)
        return name_of(tmp_path, ["rules.py"])

    plain = named('def rate():\n    """It is small."""\n    return 0.1\n')
    assert named('"""Rules."""\ndef rate():  # of learning\n    return 0.1\n') == plain
    assert named("def rate():\n    return 0.2\n") != plain


def test_a_record_comes_back_as_it_was_written(tmp_path):
    record = recorded(task_named(ACROBOT), OURS, 3, -85.0)
    append(tmp_path / "deep.jsonl", record)
    assert read(tmp_path / "deep.jsonl") == [record]
    assert (record.settings["hidden"], record.settings["n_envs"]) == ([64, 64], 8)
    with pytest.raises(ValueError, match="reads schema 2"):
        from_line(json.dumps({"schema": 1}))


def test_a_side_that_is_worse_beyond_noise_is_called_so():
    task = task_named(ACROBOT)
    low, high = [-120.0 - i for i in range(10)], [-80.0 - i for i in range(10)]
    assert "| 0.00 [0.00, 0.00] | worse |" in render(both_sides(task, low, high))
    assert "| 1.00 [1.00, 1.00] | better |" in render(both_sides(task, high, low))
    assert "| level |" in render(
        both_sides(task, high, [x + (-1) ** i for i, x in enumerate(high)])
    )


def test_of_fewer_than_four_seeds_nothing_is_called():
    task = task_named(ACROBOT)
    said = render(both_sides(task, [-80.0] * 3, [-500.0] * 3))
    assert f"| {ACROBOT} | 102,400 | 3 | −80.0 | −500 | −80.0 | −500 |  | too few seeds |" in said
    assert "| ppo | 1 |" not in said


def test_a_preset_that_misses_what_is_wanted_of_it_is_told():
    task = next(task for task in TASKS if task.sides == (OURS,) and task.agent == "dqn")
    records = [recorded(task, OURS, seed, 300.0, 470.0 + seed) for seed in range(10)]
    assert "best at least 475: missed by 5 of 10 |" in render(records)


def test_the_newest_code_stands_in_the_table():
    task = task_named(ACROBOT)
    old = both_sides(task, [-500.0] * 10, [-90.0] * 10)
    old = [replace(record, code="old", date="2020-01-01") for record in old]
    said = render([recorded(task, OURS, 0, -80.0), *old])
    assert f"| {ACROBOT} | 102,400 | 1, 10 | −80.0" in said
    assert render([]) == "Nothing was trained yet.\n"


def test_the_page_has_the_tables_of_the_records():
    page = (REPOSITORY / "docs/agents.md").read_text(encoding="utf-8")
    for file in ("deep.jsonl", "newer.jsonl"):
        for line in render(read(REPOSITORY / "docs/learning" / file)).splitlines():
            assert line in page


def test_the_textbook_learns_a_small_lake():
    settings = Settings(Constant(0.1), Constant(0.3), discount=0.99)
    table = learned("FrozenLake-v1", 60_000, seed=0, settings=settings)
    assert mean_return(table, "FrozenLake-v1") > 0.5


def test_both_sides_of_every_task_are_named_and_every_name_is_one():
    names = [task.name for task in known.TASKS]
    assert len(set(names)) == len(names)
    assert {side for task in TASKS for side in task.sides} == {OURS, SB3, TEXTBOOK}


@pytest.mark.parametrize("agent", ["ppo", "dqn", "qr-dqn", "rainbow-lite", "sac", "td3"])
@pytest.mark.parametrize("side", [OURS, SB3])
def test_a_side_plays(agent, side):
    """In a process of its own: what torch warns of is nothing that a test here should fail on."""
    if side == SB3 and find_spec("sb3_contrib") is None:
        pytest.skip("needs Stable-Baselines3 and sb3-contrib: make test-extras")
    ended = subprocess.run(
        [sys.executable, "-c", TINY, agent, side], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


TINY = """
import sys
from dataclasses import replace
from math import isfinite
from tests.evidence.learning.run import play
from tests.evidence.learning.tasks import TASKS

name, side = sys.argv[1:]
task = next(task for task in TASKS if task.agent == name and side in task.sides)
env = "Pendulum-v1" if name in ("sac", "td3") else "CartPole-v1"
changes = {} if name == "ppo" else {"learning_starts": 200, "batch": 16, "hidden": (16,)}
task = replace(task, steps=2048 if name == "ppo" else 300, env=env)
played = play(replace(task, settings=replace(task.settings, **changes)), side, 0)
assert isfinite(played.final) and played.best >= played.final - 1e3 and played.seconds > 0
"""
