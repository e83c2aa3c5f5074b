"""`from rl_impls import PPO`: what a user meets first."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rl_impls
from rl_impls import DQN, PPO, SAC, CompiledQLearning, DQNSettings, evaluate, load, make, train
from rl_impls.agents.agent import shape_of
from rl_impls.agents.evaluation import BestCheckpoint
from rl_impls.agents.evaluation import evaluate as evaluate_all
from rl_impls.agents.ppo import PPOSettings
from rl_impls.errors import AgentFileError, SettingError, SpaceError
from rl_impls.replay.uniform import UniformReplay

README = Path(__file__).parents[2] / "rl_impls/README.md"
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
    with pytest.raises(SettingError, match="nothing is known to make more of this agent's"):
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


HELLO = re.search(r"```python\n(from rl_impls import .*?)```", README.read_text("utf-8"), re.DOTALL)


def test_hello_world_of_the_readme_makes_trains_evaluates_saves_and_loads(
    tmp_path, monkeypatch, capsys
):
    assert HELLO is not None
    lines = HELLO[1].splitlines()
    assert len(lines) == 2 + 5  # what imports, and five
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(HELLO[1], names)  # what it says, word for word
    assert float(capsys.readouterr().out) > 100
    assert names["again"].n_steps > names["agent"].n_steps > 0
    assert list(tmp_path.iterdir()) == [tmp_path / "ppo.npz"]


def cartpole(**arguments):
    return gymnasium.make("CartPole-v1", **arguments)


WRONG: Any = 7
STRING: Any = "32"
SOURCES: dict[str, tuple[Callable[[], Any], int]] = {
    "a name": (lambda: "CartPole-v1", 8),
    "a specification": (lambda: gymnasium.spec("CartPole-v1"), 8),
    "an environment": (cartpole, 1),
    "a function": (lambda: cartpole, 8),
    "a vector environment": (lambda: gymnasium.make_vec("CartPole-v1", 4), 4),
    "one of single ones": (
        lambda: gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync"), 2,
    ),
    "a batch": (lambda: make("CartPole-v1", 16), 16),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_an_agent_takes_whatever_names_makes_or_is_an_environment(source):
    make_source, n_envs = SOURCES[source]
    agent = PPO(make_source(), PPOSettings(horizon=64), seed=0)
    assert agent.shape.n_envs == n_envs
    assert agent.learn(64).n_updates == 10
    assert 5 < evaluate(agent, make_source(), episodes=6) <= 500
    if source == "a batch":
        with pytest.raises(SettingError, match="hand one over, by name, as a"):
            evaluate(agent)
    else:
        assert 5 < evaluate(agent, episodes=3) <= 500


@pytest.mark.parametrize("source", SOURCES)
def test_one_evaluation_plays_the_same_episodes_every_time(source):
    agent = PPO(shape_of(make("CartPole-v1", 1)), PPOSettings(horizon=64), seed=0)
    make_source, _ = SOURCES[source]
    first, again = (evaluate_all(agent, make_source(), 7, seed=3) for _ in range(2))
    assert len(first) == 7
    np.testing.assert_array_equal(first, again)
    assert len(set(first)) > 1


def test_an_environment_of_ones_own_keeps_the_preset_of_its_name():
    assert PPO(cartpole(), seed=0).settings.learning_rate == 1e-3
    assert PPO(cartpole, seed=0).settings.learning_rate == 3e-4  # nobody knows what it makes


@pytest.mark.parametrize("kind", [str, Path])
def test_a_saved_agent_knows_where_it_learned_and_goes_on_there(kind, tmp_path):
    path = kind(tmp_path / "ppo.npz")
    agent = PPO("CartPole-v1", PPOSettings(horizon=64), seed=0).learn(64)
    agent.save(path)
    for again in (load(path), PPO.load(path)):
        assert isinstance(again, PPO)
        assert again.env_name == "CartPole-v1"
        assert evaluate(again, episodes=5) == evaluate(agent, episodes=5)
        assert again.learn(64).n_steps == 128
    assert PPO.load(path, cartpole).learn(64).n_steps == 128
    with pytest.raises(SettingError, match=r"made for 8 environments .* here is 1 environment"):
        PPO.load(path, cartpole()).learn(64)


def test_a_file_cannot_choose_a_module_to_import(tmp_path):
    path = tmp_path / "agent.npz"
    agent = PPO(CARTPOLE, PPOSettings(horizon=64), seed=0)
    agent.env_source = "antigravity:CartPole-v1"
    agent.save(path)
    assert PPO.load(path).env_name is None
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes()) | {"env": agent.env_source}
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    with pytest.raises(AgentFileError, match="its environment is 'antigravity:CartPole-v1'"):
        load(path)
    assert "antigravity" not in sys.modules


def test_tables_take_environments_and_functions_too():
    learner = train(gymnasium.make("FrozenLake-v1"), "list", steps=500, seed=0)
    assert 0 <= evaluate(learner, lambda: gymnasium.make("FrozenLake-v1"), 20) <= 1
    with pytest.raises(SettingError, match="one environment at a time"):
        train(gymnasium.make_vec("CartPole-v1", 2), "list", steps=5)


def test_observations_of_choices_are_learned_from():
    agent = DQN("FrozenLake-v1", DQNSettings(buffer=1000, learning_starts=100), seed=0)
    assert agent.shape.obs_size == 16
    assert 0 <= evaluate(agent.learn(200), episodes=5) <= 1
    assert DQN("Blackjack-v1", DQNSettings(buffer=100)).shape.obs_size == 32 + 11 + 2


class Colours(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(0, 255, (96, 96, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)


def test_images_and_what_does_not_fit_into_memory_are_refused_with_one_sentence():
    with pytest.raises(SpaceError, match=r"images in colour: wrap .* and choose pixel-dqn"):
        PPO(Colours())
    with pytest.raises(SettingError, match=r"a replay of 100,000,000 rows .* a smaller buffer"):
        UniformReplay(100_000_000, 30_000_000, batch_size=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: PPO("CartPol-v1"), r"CartPol-v1 cannot be made .*CartPole"),
        (lambda: PPO(WRONG), "int is no environment: give a name, a gymnasium.Env, a function"),
        (lambda: PPO(lambda: WRONG), "returned int: let it return a gymnasium.Env"),
        (lambda: DQN("Pendulum-v1"), "but continuous ones: choose PPO, SAC or TD3"),
        (lambda: SAC("CartPole-v1"), "2 numbered ones: choose PPO, DQN or QR-DQN"),
        (lambda: DQN("CartPole-v1", WRONG), r"dqn takes DQNSettings\(…\), and not"),
        (lambda: DQNSettings(batch=STRING), "batch is a whole number, and not '32'"),
        (lambda: DQNSettings(learning_rate=STRING), "learning_rate is a number, and not '32'"),
        (lambda: PPOSettings(hidden=WRONG), r"hidden is several whole numbers, as \(64, 64\)"),
        (lambda: make(cartpole(), 2), "there is 1 of this environment and not 2"),
        (
            lambda: evaluate(PPO("CartPole-v1"), "Acrobot-v1", 1),
            "made for observations of 4 numbers and 2 actions, and here are observations of 6 "
            "numbers and 3 actions",
        ),
        (
            lambda: train("CartPole-v1", "ppo", steps=1, settings=DQNSettings(buffer=1)),
            "ppo takes PPOSettings",
        ),
    ],
)
def test_mistakes_are_one_sentence_that_says_what_to_do(call, said):
    with pytest.raises((SettingError, SpaceError), match=said) as refused:
        call()
    assert "\n" not in str(refused.value)


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
