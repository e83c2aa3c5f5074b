"""Losses and gradients that are not finite end a training, and never reach the parameters."""

from typing import Any

import numpy as np
import pytest

from rl_impls.__main__ import main
from rl_impls.agents.agent import Shape
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import PPOSettings
from rl_impls.agents.qr_dqn import QRDQNSettings
from rl_impls.agents.rainbow import RainbowLiteSettings
from rl_impls.agents.sac import SACSettings
from rl_impls.agents.td3 import TD3Settings
from rl_impls.envs.control.step import Step
from rl_impls.errors import Diverged
from rl_impls.registry import agent_type, make_agent

REPLAY: Any = {"hidden": (16,), "batch": 8, "buffer": 100, "learning_starts": 8}
SETTINGS = {
    "dqn": DQNSettings(**REPLAY),
    "qr-dqn": QRDQNSettings(**REPLAY, n_quantiles=5),
    "rainbow-lite": RainbowLiteSettings(**REPLAY),
    "ppo": PPOSettings(horizon=32, minibatch=8, hidden=(16,)),
    "sac": SACSettings(**REPLAY),
    "td3": TD3Settings(**REPLAY),
}


def made(name):
    numbered = Shape(4, 3, n_actions=2)
    continuous = Shape(4, 3, act_size=1, act_low=(-1.0,), act_high=(1.0,))
    return make_agent(continuous if name in ("sac", "td3") else numbered, SETTINGS[name], seed=0)


def live(agent, n_steps, reward):
    rng = np.random.default_rng(0)
    never = np.zeros(4, bool)
    for _ in range(n_steps // 4):
        obs_tm1, obs_t = rng.standard_normal((2, 4, 3)).astype(np.float32)
        agent.act(obs_tm1)
        r_t = np.full(4, reward, np.float32)
        agent.observe(Step(obs_t, r_t, never, never, obs_t, obs_tm1))


@pytest.mark.parametrize("reward", [np.nan, np.inf])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_training_that_diverges_says_so_and_can_be_saved_and_loaded(name, reward, tmp_path):
    agent = made(name)
    live(agent, 64, 1.0)
    with pytest.raises(Diverged, match=rf"^{name.upper()}, step \d+: the (loss|gradient) is .*"):
        live(agent, 640, reward)
    for array in agent.parameters():
        assert np.isfinite(array).all()
    agent.save(tmp_path / "agent.npz")
    again = agent_type(name).load(tmp_path / "agent.npz")
    for array, loaded in zip(agent.parameters(), again.parameters(), strict=True):
        np.testing.assert_array_equal(array, loaded)


def test_the_sentence_tells_agent_step_learning_rate_and_what_to_do():
    agent = made("dqn")
    with pytest.raises(Diverged) as raised:
        live(agent, 8, np.nan)
    assert str(raised.value) == (
        "DQN, step 8: the loss is nan, and was kept away from the parameters: choose a learning "
        "rate below 0.0003, or look for observations and rewards that are not finite."
    )


def test_the_command_fails_with_that_sentence_and_writes_what_was_learned(
    monkeypatch, tmp_path, capsys
):
    differentiate = DQN._differentiate

    def diverging(self, batch):
        return differentiate(self, batch) if self._adam.n_steps < 3 else np.nan

    monkeypatch.setattr(DQN, "_differentiate", diverging)
    file = tmp_path / "agent.npz"
    words = ["rl_impls/CartPole-v1", "--agent", "dqn", "--steps", "2000", "--save", str(file)]
    assert main(["train", *words]) == 1
    assert "rl_impls: DQN, step 1,024: the loss is nan" in capsys.readouterr().err
    assert DQN.load(file).n_steps == 1024
