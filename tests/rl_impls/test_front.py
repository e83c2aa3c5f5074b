"""`from rl_impls import PPO`: what a user meets first."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import rl_impls
from rl_impls import DQN, PPO, CompiledQLearning, evaluate, load, make, train
from rl_impls.agents.agent import shape_of
from rl_impls.agents.evaluation import BestCheckpoint
from rl_impls.agents.ppo import PPOSettings
from rl_impls.errors import AgentFileError, SettingError, SpaceError

CARTPOLE, GAME = "rl_impls/CartPole-v1", "TicTacToe-v0"
HEAVY = ("numpy", "numba", "gymnasium", "torch", "jax")


@pytest.mark.parametrize("statement", ["import rl_impls", "import rl_impls.registry"])
def test_importing_the_package_imports_nothing_heavy(statement):
    program = f"import sys\n{statement}\nprint([m for m in {HEAVY} if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.stdout.strip() == "[]", told.stderr


def test_all_names_of_the_front_are_found_and_listed():
    for name in rl_impls.__all__:
        assert getattr(rl_impls, name).__name__ == name
    assert set(rl_impls.__all__) <= set(dir(rl_impls))
    with pytest.raises(AttributeError, match="no attribute 'A3C'"):
        _ = rl_impls.A3C


def test_an_agent_made_by_name_has_the_preset_and_environments_of_its_own():
    agent = PPO(CARTPOLE, seed=0)
    assert (agent.settings.learning_rate, agent.shape.n_envs) == (1e-3, 8)
    assert agent.learn(2048) is agent
    assert (agent.n_steps, agent.n_updates) == (2048, 80)
    assert 5 < evaluate(agent, episodes=5) <= 500


def test_learning_by_name_is_the_loop_on_a_batch_of_that_name():
    by_name = PPO(CARTPOLE, PPOSettings(horizon=256), seed=3).learn(512)
    batch = make(CARTPOLE, 8, seed=3)
    by_hand = PPO(shape_of(batch), PPOSettings(horizon=256), seed=3)
    by_hand.env = batch
    by_hand.learn(512)
    for mine, other in zip(by_name.parameters(), by_hand.parameters(), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_an_agent_for_a_shape_alone_has_nowhere_to_learn():
    agent = PPO(shape_of(make(CARTPOLE, 8)), seed=0)
    with pytest.raises(SettingError, match="no environments of its own: make it by their name"):
        agent.learn(10)
    with pytest.raises(SettingError, match="does not know its environment"):
        evaluate(agent)


def test_an_environment_that_does_not_fit_is_refused():
    with pytest.raises(SpaceError, match="observations from Discrete"):
        DQN(GAME)


def test_training_and_files_go_by_name_too(tmp_path):
    learner = train(GAME, "compiled", steps=100_000, seed=1)
    assert isinstance(learner, CompiledQLearning)
    assert evaluate(learner, GAME, 1000) > 0.6
    learner.save(tmp_path / "table.npz")
    again = load(tmp_path / "table.npz")
    assert isinstance(again, CompiledQLearning)
    np.testing.assert_array_equal(again.table(), learner.table())
    agent = train(CARTPOLE, "ppo", steps=2048, seed=1)
    assert agent.n_steps == 2048
    agent.save(tmp_path / "agent.npz")
    later = load(tmp_path / "agent.npz", CARTPOLE)
    assert isinstance(later, PPO)
    assert later.learn(2048).n_steps == 4096
    assert load(tmp_path / "agent.npz").n_steps == 2048
    assert evaluate(later, episodes=3) > 5


def test_make_gives_a_table_or_a_batch():
    assert make(GAME, seed=0).n_states == 3**9
    assert make(CARTPOLE, 3, seed=0).n_envs == 3


def test_wrong_names_and_files_are_told(tmp_path):
    with pytest.raises(SettingError, match="there is no agent 'a3c': choose one of list, "):
        train(CARTPOLE, "a3c", steps=1)
    with pytest.raises(SettingError, match="list learns a table, and has no back end"):
        train(GAME, "list", steps=1, backend="torch")
    with pytest.raises(AgentFileError, match="there is no saved agent at"):
        load(tmp_path / "nothing.npz")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(AgentFileError, match="or a damaged one"):
        load(tmp_path / "text")
    np.savez(tmp_path / "other.npz", header=np.frombuffer(b"{}", np.uint8))
    with pytest.raises(AgentFileError, match="neither an agent nor a learner"):
        load(tmp_path / "other.npz")


@pytest.mark.parametrize("n_envs", [None, "two", 0, 10**9])
def test_a_damaged_agent_that_shall_go_on_is_refused_before_its_environments_are_made(
    tmp_path, n_envs
):
    with np.load(SAVED / "dqn_version_1.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    header["shape"]["n_envs"] = n_envs
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(tmp_path / "agent.npz", header=text, **arrays)
    with pytest.raises(AgentFileError, match="contradicts itself"):
        load(tmp_path / "agent.npz", CARTPOLE)


SAVED = Path(__file__).parent / "saved"  # by the release before the front, each with version 1


def test_agents_that_an_earlier_release_saved_still_load_and_go_on():
    best = BestCheckpoint(lambda agent: 0.0)
    batch = make(CARTPOLE, 2)
    agent = PPO.load(SAVED / "ppo_version_1.npz", batch, best)
    assert (agent.n_steps, agent.n_unlearned) == (70, 6)
    assert (best.best, best.n_validations, best.n_since_best) == (3.0, 4, 2)
    np.testing.assert_allclose(agent.parameters()[0][:3], [0.519806, -0.711959, -0.065962], 1e-4)
    assert agent.learn(20).n_steps == 90
    loaded = load(SAVED / "dqn_version_1.npz", CARTPOLE)
    assert isinstance(loaded, DQN)
    assert (loaded.n_steps, len(loaded.replay), loaded.settings.prioritised) == (40, 16, False)
    np.testing.assert_allclose(loaded.parameters()[0][:3], [0.736445, -1.004783, -0.095437], 1e-4)
    assert loaded.learn(10).n_steps == 50


def test_a_table_that_an_earlier_release_saved_still_loads():
    learner = load(SAVED / "table_version_1.npz")
    assert isinstance(learner, CompiledQLearning)
    assert (learner.n_steps, learner.n_episodes) == (5000, 540)
    assert learner.table().sum() == pytest.approx(4.498492, rel=1e-5)


DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["agents", "deep", "deep-envs", "mpi-runtimes", "pipeline", "rl_impls"]


@pytest.mark.parametrize("page", PAGES)
def test_what_the_docs_import_is_there(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    imports = re.findall(r"^from (rl_impls[\w.]*) import ([\w, ]+)$", text, re.MULTILINE)
    assert imports
    for module, names in imports:
        for name in names.split(", "):
            assert hasattr(import_module(module), name), f"{module} has no {name}"
