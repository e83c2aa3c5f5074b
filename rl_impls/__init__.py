"""Reinforcement-learning environments, agents and runtimes that are worth gating.

    from rl_impls import PPO, evaluate

    agent = PPO("CartPole-v1", seed=0).learn(50_000)
    print(evaluate(agent))
    agent.save("ppo.npz")
    again = PPO.load("ppo.npz").learn(50_000)

Deep agents and learners of tables by class, and `make`, `train`, `evaluate` and `load` by name.
Each is imported when it is first asked for: `import rl_impls` itself takes neither NumPy nor Numba.
"""

from typing import TYPE_CHECKING, Any

from rl_impls.registry import AGENTS, LEARNERS, NUMPY, located

if TYPE_CHECKING:
    from rl_impls.agents.dqn import DQN, DQNSettings
    from rl_impls.agents.ppo import PPO, PPOSettings
    from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
    from rl_impls.agents.rainbow import RainbowLite, RainbowLiteSettings
    from rl_impls.agents.sac import SAC, SACSettings
    from rl_impls.agents.td3 import TD3, TD3Settings
    from rl_impls.api import evaluate, load, make, train
    from rl_impls.learning import KeepBest, Report, StopAt
    from rl_impls.tabular import (
        BatchQLearning,
        CompiledQLearning,
        GPUQLearning,
        ListQLearning,
        MemoryOptimizedQLearning,
        NumpyQLearning,
        OptimalQLearning,
        SparseQLearning,
    )

__all__ = [
    "DQN",
    "PPO",
    "QRDQN",
    "SAC",
    "TD3",
    "BatchQLearning",
    "CompiledQLearning",
    "DQNSettings",
    "GPUQLearning",
    "KeepBest",
    "ListQLearning",
    "MemoryOptimizedQLearning",
    "NumpyQLearning",
    "OptimalQLearning",
    "PPOSettings",
    "QRDQNSettings",
    "RainbowLite",
    "RainbowLiteSettings",
    "Report",
    "SACSettings",
    "SparseQLearning",
    "StopAt",
    "TD3Settings",
    "evaluate",
    "load",
    "make",
    "train",
]

_PLACES = {
    place.partition(":")[2]: place
    for place in (
        *(entry.backends[NUMPY] for entry in AGENTS.values() if NUMPY in entry.backends),
        *(entry.settings for entry in AGENTS.values() if NUMPY in entry.backends),
        *LEARNERS.values(),
        *(f"rl_impls.api:{name}" for name in ("evaluate", "load", "make", "train")),
        *(f"rl_impls.learning:{name}" for name in ("KeepBest", "Report", "StopAt")),
    )
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = located(_PLACES[name])
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
