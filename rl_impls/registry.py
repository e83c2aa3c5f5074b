"""The agents whose updates torch or JAX compute: the one place that knows where they are.

Nothing else of this package imports either. A framework is loaded when an agent on it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from rl_impls.agents.agent import AgentSettings, DeepAgent, Shape
from rl_impls.agents.dqn import DQN, PIXEL_DQN, DQNSettings, PixelSettings
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.agents.sac import SAC, SACSettings
from rl_impls.errors import MissingDependency, SettingError

if TYPE_CHECKING:
    from rl_impls.agents.agent import DeepAgent


# By agent and framework: module and class.
ON_FRAMEWORKS: Final = {
    ("dqn", "torch"): ("rl_impls.backends.torch.agents", "TorchDQN"),
    ("ppo", "torch"): ("rl_impls.backends.torch.agents", "TorchPPO"),
    ("dqn", "jax"): ("rl_impls.backends.jax.agents", "JaxDQN"),
    ("ppo", "jax"): ("rl_impls.backends.jax.agents", "JaxPPO"),
    (PIXEL_DQN, "torch"): ("rl_impls.backends.torch.pixel_dqn", "PixelDQN"),
}


def frameworks_of(agent: str) -> tuple[str, ...]:
    return tuple(framework for name, framework in ON_FRAMEWORKS if name == agent)


def framework_type(agent: str, framework: str) -> type[DeepAgent]:
    if find_spec(framework) is None:
        raise MissingDependency(
            f"{agent} on {framework} needs {framework}, which is not installed: "
            f"pip install 'pytest-rlperf[{framework}]', or choose another back end or agent."
        )
    module, name = ON_FRAMEWORKS[agent, framework]
    found: type[DeepAgent] = getattr(import_module(module), name)
    return found


# The deep agents by the name that their files and the command line know them by.


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


# Settings that are known to learn an environment; elsewhere an agent has its defaults.
#
# An environment of Gymnasium and its compiled form share theirs.


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
