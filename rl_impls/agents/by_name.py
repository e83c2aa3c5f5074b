"""The deep agents by the name that their files and the command line know them by."""

from __future__ import annotations

from typing import Final

from rl_impls.agents.agent import DeepAgent, Shape
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.agents.sac import SAC, SACSettings
from rl_impls.agents.settings import AgentSettings
from rl_impls.errors import SettingError

AGENTS: Final[dict[str, type[DeepAgent]]] = {kind.name: kind for kind in (DQN, QRDQN, PPO, SAC)}


def make_agent(shape: Shape, settings: AgentSettings, *, seed: int | None = None) -> DeepAgent:
    """The agent that these settings belong to."""
    match settings:
        case QRDQNSettings():
            return QRDQN(shape, settings, seed=seed)
        case DQNSettings():
            return DQN(shape, settings, seed=seed)
        case PPOSettings():
            return PPO(shape, settings, seed=seed)
        case SACSettings():
            return SAC(shape, settings, seed=seed)
        case _:
            raise SettingError(f"no agent takes {type(settings).__name__}: choose an agent's own.")
