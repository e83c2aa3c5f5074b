"""Settings that are known to learn an environment; elsewhere an agent has its defaults.

An environment of Gymnasium and its compiled form share theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rl_impls.agents.by_name import SETTINGS
from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.ppo import PPOSettings
from rl_impls.agents.qr_dqn import QRDQNSettings
from rl_impls.agents.sac import SACSettings
from rl_impls.agents.settings import AgentSettings

COMPILED_PREFIX: Final = "rl_impls/"
N_ENVS: Final = {"ppo": 8}  # a round has steps of many environments; the others learn from one


@dataclass(frozen=True, slots=True)
class Preset:
    settings: AgentSettings
    n_envs: int
    source: str


# rl-zoo3 (DLR-RM/rl-baselines3-zoo), hyperparams/dqn.yml and qrdqn.yml, CartPole-v1. It names the
# share of its 50,000 steps that explores: 0.16.
_ZOO_CARTPOLE: Final[dict[str, Any]] = {
    "hidden": (256, 256),
    "learning_rate": 2.3e-3,
    "buffer": 100_000,
    "batch": 64,
    "update_every": 256,
    "n_updates": 128,
    "target_every": 10,
    "epsilon_end": 0.04,
    "epsilon_over": 8000,
    "huber": 1.0,
}

PRESETS: Final[dict[tuple[str, str], Preset]] = {
    ("dqn", "CartPole-v1"): Preset(
        DQNSettings(**_ZOO_CARTPOLE), 1, "rl-zoo3, dqn.yml; double, which it is not there"
    ),
    ("qr-dqn", "CartPole-v1"): Preset(
        QRDQNSettings(**_ZOO_CARTPOLE, n_quantiles=10), 1, "rl-zoo3, qrdqn.yml"
    ),
    ("ppo", "CartPole-v1"): Preset(
        PPOSettings(learning_rate=1e-3), 8, "defaults; rl-zoo3's first learning rate, ppo.yml"
    ),
    ("sac", "Pendulum-v1"): Preset(
        SACSettings(hidden=(64, 64), learning_rate=1e-3, buffer=100_000),
        1,
        "rl-zoo3's learning rate, sac.yml; smaller networks",
    ),
}


def preset_for(agent: str, env_name: str) -> Preset:
    """That of the table, or the agent's defaults."""
    known = PRESETS.get((agent, env_name.removeprefix(COMPILED_PREFIX)))
    return known or Preset(SETTINGS[agent](), N_ENVS.get(agent, 1), "defaults")
