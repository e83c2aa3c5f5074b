"""Every name that a user can choose, and where what it names is found.

Learners of a table, deep agents by back end, environments, runtimes and presets stand here and
nowhere else. A place is written `module:name` and imported when it is asked for: a help text, or
`import rl_impls`, waits for neither NumPy nor Numba, and a framework is loaded only for an agent
that computes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from rl_impls.errors import MissingDependency, SettingError

if TYPE_CHECKING:
    from rl_impls.agents.agent import AgentSettings, DeepAgent, Shape
    from rl_impls.tabular import QLearner

Setting = int | float | tuple[int, ...]

NUMPY: Final = "numpy"

LEARNERS: Final[dict[str, str]] = {
    "list": "rl_impls.tabular.lists:ListQLearning",
    "numpy": "rl_impls.tabular.arrays:NumpyQLearning",
    "optimal": "rl_impls.tabular.optimal:OptimalQLearning",
    "batch": "rl_impls.tabular.arrays:BatchQLearning",
    "memory": "rl_impls.tabular.arrays:MemoryOptimizedQLearning",
    "sparse": "rl_impls.tabular.lists:SparseQLearning",
    "gpu": "rl_impls.tabular.arrays:GPUQLearning",
    "compiled": "rl_impls.tabular.compiled:CompiledQLearning",
}


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """A deep agent's settings, and its class by back end, the usual one first."""

    settings: str
    backends: Mapping[str, str]
    runtimes: tuple[str, ...]
    n_envs: int = 1  # where no preset says otherwise


AGENTS: Final[dict[str, AgentEntry]] = {
    "dqn": AgentEntry(
        "rl_impls.agents.dqn:DQNSettings",
        {
            NUMPY: "rl_impls.agents.dqn:DQN",
            "torch": "rl_impls.backends.torch.agents:TorchDQN",
            "jax": "rl_impls.backends.jax.agents:JaxDQN",
        },
        ("serial", "actor-learner", "mpi-central"),
    ),
    "qr-dqn": AgentEntry(
        "rl_impls.agents.qr_dqn:QRDQNSettings",
        {NUMPY: "rl_impls.agents.qr_dqn:QRDQN"},
        ("serial", "actor-learner", "mpi-central"),
    ),
    "rainbow-lite": AgentEntry(
        "rl_impls.agents.rainbow:RainbowLiteSettings",
        {NUMPY: "rl_impls.agents.rainbow:RainbowLite"},
        ("serial",),
    ),
    "ppo": AgentEntry(
        "rl_impls.agents.ppo:PPOSettings",
        {
            NUMPY: "rl_impls.agents.ppo:PPO",
            "torch": "rl_impls.backends.torch.agents:TorchPPO",
            "jax": "rl_impls.backends.jax.agents:JaxPPO",
        },
        ("serial", "mpi-ppo"),
        n_envs=8,  # a round has steps of many environments; the others learn from one
    ),
    "sac": AgentEntry(
        "rl_impls.agents.sac:SACSettings", {NUMPY: "rl_impls.agents.sac:SAC"}, ("serial",)
    ),
    "td3": AgentEntry(
        "rl_impls.agents.td3:TD3Settings", {NUMPY: "rl_impls.agents.td3:TD3"}, ("serial",)
    ),
    "pixel-dqn": AgentEntry(
        "rl_impls.agents.dqn:PixelSettings",
        {"torch": "rl_impls.backends.torch.pixel_dqn:PixelDQN"},
        ("serial",),
    ),
}
BACKENDS: Final = (NUMPY, "torch", "jax")

MPI_TABLES: Final = ("mpi-sync", "mpi-async")
MPI: Final = (*MPI_TABLES, "mpi-ppo", "mpi-central")
RUNTIMES: Final = ("serial", "parallel", "actor-learner", *MPI)
COMPRESSIONS: Final = ("exact", "float16", "int8")
# Of the actor-learner runtime, by name: how many of an agent's batches an update learns from.
ACTOR_LEARNER_PRESETS: Final[dict[str, int]] = {"optimised": 2}


@dataclass(frozen=True, slots=True)
class EnvironmentEntry:
    """An environment's classes; `control` makes what a compiled batch has to know of it."""

    single: str
    vector: str | None = None
    control: str | None = None
    max_steps: int | None = None  # of an episode, where the rules alone do not end it


ENVIRONMENTS: Final[dict[str, EnvironmentEntry]] = {
    "TicTacToe-v0": EnvironmentEntry(
        "rl_impls.envs.games:TicTacToeEnv", vector="rl_impls.envs.games:TicTacToeVectorEnv"
    ),
    "TwoArmedBandit-v0": EnvironmentEntry(
        "rl_impls.envs.games:TwoArmedBanditEnv",
        vector="rl_impls.envs.games:TwoArmedBanditVectorEnv",
    ),
    "rl_impls/CartPole-v1": EnvironmentEntry(
        "rl_impls.envs.control.compiled:CartPoleEnv",
        control="rl_impls.envs.control.cartpole:cartpole",
        max_steps=500,
    ),
    "rl_impls/Pendulum-v1": EnvironmentEntry(
        "rl_impls.envs.control.compiled:PendulumEnv",
        control="rl_impls.envs.control.pendulum:pendulum",
        max_steps=200,
    ),
    "ChemicalReactor-v0": EnvironmentEntry(
        "rl_impls.envs.control.compiled:ChemicalReactorEnv",
        control="rl_impls.envs.control.reactor:reactor",
        max_steps=300,
    ),
    "rl_impls/SideScroller-v0": EnvironmentEntry(
        "rl_impls.envs.control.compiled:SideScrollerEnv",
        control="rl_impls.envs.control.side_scroller:side_scroller",
        max_steps=500,
    ),
}


@dataclass(frozen=True, slots=True)
class Preset:
    """Settings of an agent that are known to learn an environment, or its defaults."""

    agent: str
    n_envs: int
    source: str
    values: Mapping[str, Setting] = field(default_factory=dict)

    @property
    def settings(self) -> AgentSettings:
        return settings_type(self.agent)(**self.values)  # type: ignore[arg-type]


# rl-zoo3 (DLR-RM/rl-baselines3-zoo), hyperparams/dqn.yml and qrdqn.yml, CartPole-v1. It names the
# share of its 50,000 steps that explores: 0.16.
_ZOO_CARTPOLE: Final[dict[str, Setting]] = {
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

# By agent and environment; Gymnasium's environment and its compiled form share theirs.
PRESETS: Final[dict[tuple[str, str], Preset]] = {
    ("dqn", "CartPole-v1"): Preset(
        "dqn", 1, "rl-zoo3, dqn.yml; double, which it is not there", _ZOO_CARTPOLE
    ),
    ("qr-dqn", "CartPole-v1"): Preset(
        "qr-dqn", 1, "rl-zoo3, qrdqn.yml", {**_ZOO_CARTPOLE, "n_quantiles": 10}
    ),
    ("ppo", "CartPole-v1"): Preset(
        "ppo", 8, "defaults; rl-zoo3's first learning rate, ppo.yml", {"learning_rate": 1e-3}
    ),
    ("ppo", "Pendulum-v1"): Preset(
        "ppo",
        4,
        "rl-zoo3, ppo.yml, without its gSDE; the usual minibatch of Stable-Baselines3",
        {
            "horizon": 4096,
            "learning_rate": 1e-3,
            "discount": 0.9,
            "minibatch": 64,
            "entropy_weight": 0.0,
        },
    ),
    ("sac", "Pendulum-v1"): Preset(
        "sac",
        1,
        "rl-zoo3's learning rate, sac.yml; smaller networks",
        {"hidden": (64, 64), "learning_rate": 1e-3, "buffer": 100_000},
    ),
    ("td3", "Pendulum-v1"): Preset(
        "td3",
        1,
        "rl-zoo3's learning rate, td3.yml; smaller networks",
        {"hidden": (64, 64), "learning_rate": 1e-3, "buffer": 100_000},
    ),
}


def located(place: str) -> Any:
    """Import what a place `module:name` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def learner_type(name: str) -> type[QLearner]:
    """Return the class of a learner of a table."""
    kind: type[QLearner] = located(LEARNERS[name])
    return kind


def settings_type(agent: str) -> type[AgentSettings]:
    """Return the class of an agent's settings, the same on every back end."""
    kind: type[AgentSettings] = located(AGENTS[agent].settings)
    return kind


def backends_of(name: str) -> tuple[str, ...]:
    """Return what an agent's updates can be computed with, the usual one first; none of a table."""
    return tuple(AGENTS[name].backends) if name in AGENTS else ()


def runtimes_of(name: str) -> tuple[str, ...]:
    """Return the runtimes that train this agent or learner."""
    if name in AGENTS:
        return AGENTS[name].runtimes
    return ("serial", "parallel", *(MPI_TABLES if name == "compiled" else ()))


def agent_type(name: str, backend: str | None = None) -> type[DeepAgent]:
    """Return the class of a deep agent on a back end, or on its usual one."""
    known = backends_of(name)
    chosen = backend or known[0]
    if chosen not in known:
        raise SettingError(f"there is no {name} on {chosen!r}: choose {' or '.join(known)}.")
    if chosen != NUMPY and find_spec(chosen) is None:
        raise MissingDependency(
            f"{name} on {chosen} needs {chosen}, which is not installed: "
            f"pip install 'pytest-rlperf[{chosen}]', or choose another back end or agent."
        )
    kind: type[DeepAgent] = located(AGENTS[name].backends[chosen])
    return kind


def make_agent(
    shape: Shape, settings: AgentSettings, *, seed: int | None = None, backend: str | None = None
) -> DeepAgent:
    """Make the agent that these settings belong to, with its updates computed as told."""
    for name in AGENTS:
        if settings_type(name) is type(settings):
            # Each agent's constructor takes settings of its own type.
            make: Any = agent_type(name, backend)
            made: DeepAgent = make(shape, settings, seed=seed)
            return made
    raise SettingError(f"no agent takes {type(settings).__name__}: choose an agent's own.")


def preset_for(agent: str, env_name: str) -> Preset:
    """Return the preset of an agent on an environment, or one that holds the agent's defaults."""
    known = PRESETS.get((agent, env_name.removeprefix("rl_impls/")))
    return known or Preset(agent, AGENTS[agent].n_envs, "defaults")


def time_limit(env_name: str) -> int:
    """Return after how many steps an episode of one of the control environments is cut."""
    limit = ENVIRONMENTS[env_name].max_steps
    assert limit is not None, f"{env_name} ends by its rules"
    return limit
