"""The deep agents by the name that their files and the command line know them by."""

from __future__ import annotations

from typing import Any, Final

from rl_impls.agents.agent import DeepAgent, Shape
from rl_impls.agents.dqn import DQN
from rl_impls.agents.frameworks import framework_type, frameworks_of
from rl_impls.agents.pixels import PIXEL_DQN, PixelSettings
from rl_impls.agents.ppo import PPO
from rl_impls.agents.qr_dqn import QRDQN
from rl_impls.agents.sac import SAC
from rl_impls.agents.settings import AgentSettings
from rl_impls.errors import SettingError

# Those whose updates are compiled code of this package.
AGENTS: Final[dict[str, type[DeepAgent]]] = {kind.name: kind for kind in (DQN, QRDQN, PPO, SAC)}
SETTINGS: Final[dict[str, type[AgentSettings]]] = {
    **{name: kind.settings_type for name, kind in AGENTS.items()},
    PIXEL_DQN: PixelSettings,
}


def backends_of(name: str) -> tuple[str, ...]:
    """What its updates can be computed with, the usual one first."""
    return (*(("numpy",) if name in AGENTS else ()), *frameworks_of(name))


def agent_type(name: str, backend: str | None = None) -> type[DeepAgent]:
    known = backends_of(name)
    chosen = backend or known[0]
    if chosen not in known:
        raise SettingError(f"there is no {name} on {chosen!r}: choose {' or '.join(known)}.")
    return AGENTS[name] if chosen == "numpy" else framework_type(name, chosen)


def make_agent(
    shape: Shape, settings: AgentSettings, *, seed: int | None = None, backend: str | None = None
) -> DeepAgent:
    """The agent that these settings belong to, with its updates computed as told."""
    names = {kind: name for name, kind in SETTINGS.items()}
    if type(settings) not in names:
        raise SettingError(f"no agent takes {type(settings).__name__}: choose an agent's own.")
    # Each agent's constructor takes settings of its own type.
    make: Any = agent_type(names[type(settings)], backend)
    made: DeepAgent = make(shape, settings, seed=seed)
    return made
