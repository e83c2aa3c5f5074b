"""DQN and PPO on torch and JAX: what they learn is what the compiled ones learn."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_impls.__main__ import main
from rl_impls.agents.agent import Shape, shape_of, train
from rl_impls.agents.dqn import DQN, DQNSettings, PixelSettings
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.qr_dqn import QRDQNSettings
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import Diverged, MissingDependency, SettingError
from rl_impls.nets.mlp import MLP
from rl_impls.registry import agent_type, make_agent
from tests.rl_impls.backends.agreement import (
    DQN_SETTINGS,
    filled_dqn,
    furthest,
    need,
    played_ppo,
    updated_dqn,
)
from tests.rl_impls.runtimes.actor_learner.worlds import cartpole

FRAMEWORKS = ("torch", "jax")
CLOSE = 1e-4


def on(framework: str, agent: str) -> Any:
    need(framework)
    return agent_type(agent, framework)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("agent", ["dqn", "ppo"])
def test_equal_seeds_begin_with_equal_weights_everywhere(framework: str, agent: str):
    shape = Shape(1, 4, 2)
    here, there = (kind(shape, seed=3) for kind in (agent_type(agent), on(framework, agent)))
    for own, other in zip(here.parameters(), there.parameters(), strict=True):
        np.testing.assert_array_equal(own, other)


def test_the_first_weights_of_dqn_are_those_of_torch():
    need("torch")
    import torch

    torch.manual_seed(0)
    theirs = torch.nn.Linear(256, 256)
    ours = DQN(Shape(1, 4, 2), DQNSettings(hidden=(256, 256), buffer=1000), seed=0).net
    assert isinstance(ours, MLP)
    for own, other in ((ours.weights[1], theirs.weight), (ours.biases[1], theirs.bias)):
        numbers = other.detach().numpy()
        assert np.abs(own).max() == pytest.approx(np.abs(numbers).max(), rel=0.02)
        assert own.std() == pytest.approx(numbers.std(), rel=0.1)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("double", [True, False])
def test_dqn_agrees_over_a_hundred_updates(framework: str, double: bool):
    settings = DQNSettings(hidden=(32, 32), batch=64, buffer=1000, double=double, huber=1.0)
    ours = updated_dqn(filled_dqn(DQN, settings))
    theirs = updated_dqn(filled_dqn(on(framework, "dqn"), settings))
    assert furthest(ours, theirs) < CLOSE
    assert theirs.loss == pytest.approx(ours.loss, rel=1e-3)
    assert furthest(ours, filled_dqn(DQN, settings)) > 100 * CLOSE  # they have learned


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_ppo_agrees_over_a_hundred_updates(framework: str):
    ours, theirs = played_ppo(PPO), played_ppo(on(framework, "ppo"))
    assert ours._optimisers[0].n_steps == theirs._optimisers[0].n_steps == 100
    assert furthest(ours, theirs) < CLOSE
    assert theirs.losses == pytest.approx(ours.losses, abs=1e-3)
    assert furthest(ours, played_ppo(PPO, n_rounds=0)) > 10 * CLOSE


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_learning_rate_that_falls_falls_everywhere(framework: str):
    settings = PPOSettings(hidden=(8,), horizon=64, minibatch=32, n_epochs=2, linear_over=128)
    ours = played_ppo(PPO, settings, n_rounds=3)
    theirs = played_ppo(on(framework, "ppo"), settings, n_rounds=3)
    assert furthest(ours, theirs) < CLOSE


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("agent", ["dqn", "ppo"])
def test_a_training_can_go_on_with_another_back_end(framework: str, agent: str, tmp_path: Path):
    kind, plain = on(framework, agent), agent_type(agent)

    def go_on(saved: Any) -> Any:
        return updated_dqn(saved, 20) if agent == "dqn" else saved

    made = updated_dqn(filled_dqn(kind), 20) if agent == "dqn" else played_ppo(kind, n_rounds=2)
    made.save(tmp_path / "agent.npz")
    here, there = plain.load(tmp_path / "agent.npz"), kind.load(tmp_path / "agent.npz")
    for name, array in here.state().items():
        np.testing.assert_array_equal(array, there.state()[name], err_msg=name)
    assert furthest(go_on(here), go_on(there)) < CLOSE


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("agent", ["dqn", "ppo"])
def test_the_loop_trains_them_as_any_other(framework: str, agent: str):
    kind = on(framework, agent)
    env = make_batch("rl_impls/CartPole-v1", 8, seed=0)
    sizes = {"batch": 32, "learning_starts": 64} if agent == "dqn" else {"horizon": 128}
    made = kind(shape_of(env), kind.settings_type(hidden=(16,), **sizes), seed=0)
    before = [array.copy() for array in made.parameters()]
    assert train(made, env, 256) == 256
    assert all((array != old).any() for array, old in zip(made.parameters(), before, strict=True))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_actors_of_a_pipeline_get_the_weights_that_a_framework_learned(framework: str):
    kind = on(framework, "dqn")
    from rl_impls.runtimes.actor_learner.settings import PipelineSettings
    from rl_impls.runtimes.actor_learner.train import train as train_with_actors

    settings = DQNSettings(hidden=(16,), batch=16, buffer=1000, learning_starts=64)
    agent = kind(shape_of(cartpole(seed=0)), settings, seed=0)
    small = PipelineSettings(capacity=256, batch_rows=200, stage_rows=16, publish_interval=5)
    trained = train_with_actors(agent, cartpole, 600, small, seed=0)
    assert trained.updates == agent.updates_made > 0
    assert trained.published > 10
    assert agent.acting_type() is DQN  # actors need no framework


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("agent", ["dqn", "ppo"])
def test_a_loss_that_is_not_finite_ends_the_training(framework: str, agent: str):
    kind = on(framework, agent)
    made = filled_dqn(kind) if agent == "dqn" else played_ppo(kind, n_rounds=0)
    made.parameters()[0][0] = math.nan
    with pytest.raises(Diverged, match="loss"):
        made.rehearse()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_command_line_trains_with_them(framework: str, capsys: Any):
    need(framework)
    words = ["train", "rl_impls/CartPole-v1", "--agent", "ppo", "--steps", "2048"]
    assert main([*words, "--backend", framework, "--json", "-"]) == 0
    assert f'"backend": "{framework}"' in capsys.readouterr().out


@pytest.mark.parametrize("options", [{"remat": True}, {"precompiled": True}])
@pytest.mark.parametrize("agent", ["dqn", "ppo"])
def test_rematerialised_and_precompiled_updates_of_jax_are_the_same(agent: str, options: Any):
    kind = on("jax", agent)

    def learned(**options: Any) -> Any:
        if agent == "dqn":
            return updated_dqn(filled_dqn(kind, **options), 10)
        return played_ppo(kind, n_rounds=1, **options)

    plain, other = learned(), learned(**options)
    assert furthest(plain, other) < 1e-6
    assert (other.compile_s > 0.0) == ("precompiled" in options)


def test_a_precompiled_function_takes_no_other_shapes_and_caches_can_be_cleared():
    jax = need("jax")
    from rl_impls.backends.jax.network import forget_compiled, precompile

    counted = []

    @jax.jit
    def double(x: Any) -> Any:
        counted.append(1)
        return 2 * x

    made = precompile(double, np.zeros(3, np.float32))
    assert made.seconds > 0
    np.testing.assert_array_equal(made.function(np.ones(3, np.float32)), 2 * np.ones(3))
    with pytest.raises(TypeError):
        made.function(np.ones(4, np.float32))
    double(np.ones(3, np.float32))
    n_traced = len(counted)
    forget_compiled()
    double(np.ones(3, np.float32))
    assert len(counted) == n_traced + 1


# What torch's compiler imports warns of torch's own parts.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("way", [{"precision": "mixed"}, {"compiled": True}])
def test_other_ways_of_torch_learn_nearly_the_same(way: Any):
    kind = on("torch", "dqn")
    from rl_impls.backends.torch.computing import Computing

    plain, other = (
        updated_dqn(filled_dqn(kind, computing=computing), 10)
        for computing in (Computing(), Computing(**way))
    )
    assert furthest(plain, other) < (0.02 if "precision" in way else 1e-5)
    assert other.net.params.dtype == np.float32


def test_torch_refuses_what_is_not_there():
    need("torch")
    from rl_impls.backends.torch.computing import Computing

    with pytest.raises(SettingError, match="torch knows no device 'gpu': choose auto, cpu or"):
        Computing("gpu")
    with pytest.raises(SettingError, match="precision is float32 or mixed, and not 'half'"):
        Computing(precision="half")  # type: ignore[arg-type]


def test_without_a_framework_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rl_impls.registry.find_spec", lambda name: None)
    with pytest.raises(
        MissingDependency, match=r"dqn on jax needs jax, .* pip install 'pytest-rlperf\[jax\]'"
    ):
        make_agent(Shape(1, 4, 2), DQN_SETTINGS, backend="jax")


def test_agents_without_a_twin_on_a_framework_say_so():
    with pytest.raises(SettingError, match=r"there is no qr-dqn on 'torch': choose numpy\."):
        make_agent(Shape(1, 4, 2), QRDQNSettings(), backend="torch")
    with pytest.raises(SettingError, match=r"there is no pixel-dqn on 'numpy': choose torch\."):
        make_agent(Shape(1, 4, 2), PixelSettings(), backend="numpy")
