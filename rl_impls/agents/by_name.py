"""The deep agents by the name that their files and the command line know them by."""

from __future__ import annotations

from typing import Any, Final

from rl_impls.agents.agent import DeepAgent, Shape
from rl_impls.agents.dqn import DQN
from rl_impls.agents.frameworks import framework_type
from rl_impls.agents.ppo import PPO
from rl_impls.agents.qr_dqn import QRDQN
from rl_impls.agents.sac import SAC
from rl_impls.agents.settings import AgentSettings
from rl_impls.errors import SettingError

AGENTS: Final[dict[str, type[DeepAgent]]] = {kind.name: kind for kind in (DQN, QRDQN, PPO, SAC)}


def agent_type(name: str, backend: str = "numpy") -> type[DeepAgent]:
    return AGENTS[name] if backend == "numpy" else framework_type(name, backend)


def make_agent(
    shape: Shape, settings: AgentSettings, *, seed: int | None = None, backend: str = "numpy"
) -> DeepAgent:
    """The agent that these settings belong to, with its updates computed as told."""
    names = {kind.settings_type: kind.name for kind in AGENTS.values()}
    if type(settings) not in names:
        raise SettingError(f"no agent takes {type(settings).__name__}: choose an agent's own.")
    # Each agent's constructor takes settings of its own type.
    make: Any = agent_type(names[type(settings)], backend)
    made: DeepAgent = make(shape, settings, seed=seed)
    return made
