"""`python -m rl_impls list`: names, and the settings of an agent."""

from dataclasses import fields

import pytest

from rl_impls.__main__ import main
from rl_impls.commands.settings import changed, default_settings, known_settings
from rl_impls.errors import SettingError
from rl_impls.registry import AGENTS, ENVIRONMENTS, LEARNERS
from rl_impls.schedules import Constant, Exponential, Linear
from rl_impls.tabular.learner import Settings
from tests.rl_impls.commands.mistakes import assert_is_one_clear_line

ALL = [*AGENTS, *LEARNERS]


def test_every_name_is_listed(capsys):
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    for name in (*ALL, *ENVIRONMENTS, "actor-learner", "mpi-ppo", "torch"):
        assert name in said


@pytest.mark.parametrize("agent", ALL)
def test_every_setting_is_listed_with_its_default_and_what_it_means(agent, capsys):
    assert main(["list", agent]) == 0
    said = capsys.readouterr().out
    defaults = default_settings(agent)
    known = list(known_settings(agent))
    assert [each.name for each in known] == [each.name for each in fields(defaults)]
    for each in known:
        assert each.meaning, f"nobody says what {each.name} is: add it to MEANINGS"
        assert each.meaning in said
        # What is told as the default is what --set takes for it.
        same = changed(defaults, [f"{each.name}={each.default}"], agent)
        assert same == defaults


def test_presets_are_told(capsys):
    assert main(["list", "dqn"]) == 0
    assert "CartPole-v1 (rl-zoo3, dqn.yml" in capsys.readouterr().out


def test_a_name_that_is_none_is_told(capsys):
    assert_is_one_clear_line(["list", "a3c"], "there is no agent 'a3c': choose list", capsys)


@pytest.mark.parametrize(
    ("word", "schedule"),
    [
        ("epsilon=0.1", Constant(0.1)),
        ("epsilon=Linear(1, 0.05, 400_000, step)", Linear(1, 0.05, 400_000, "step")),
        ("epsilon=Linear(1.0,0.1,10,'episode')", Linear(1.0, 0.1, 10, "episode")),
        (
            "epsilon=Exponential(1.0, 0.999, 0.05, episode)",
            Exponential(1.0, 0.999, 0.05, "episode"),
        ),
    ],
)
def test_tables_take_schedules_as_python_writes_them(word, schedule):
    assert changed(Settings(), [word], "list").epsilon == schedule


@pytest.mark.parametrize("text", ["fast", "Linear(1)", "Cubic(1, 2)", "Linear(1, 2, x, step)", ""])
def test_a_schedule_that_is_none_is_told(text):
    with pytest.raises(SettingError, match="epsilon is a number, or Linear"):
        changed(Settings(), [f"epsilon={text}"], "list")


def test_a_table_learns_by_what_is_set(tmp_path, capsys):
    path = tmp_path / "table.npz"
    words = ["FrozenLake-v1", "--agent", "compiled", "--steps", "500", "--save", str(path)]
    words += ["--set", "learning_rate=0.1", "--set", "gamma=0.99", "--set", "epsilon=0.5"]
    assert main(["train", *words]) == 0
    from rl_impls import CompiledQLearning

    settings = CompiledQLearning.load(path).settings
    assert (settings.learning_rate.at(0), settings.discount) == (0.1, 0.99)
    assert settings.epsilon.at(10**6) == 0.5
