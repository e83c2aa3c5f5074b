"""Q-tables and their learners, by name."""

from typing import Final

from rl_impls import registry
from rl_impls.schedules import Constant, Exponential, Linear
from rl_impls.tabular.arrays import (
    BatchQLearning,
    GPUQLearning,
    MemoryOptimizedQLearning,
    NumpyQLearning,
)
from rl_impls.tabular.compiled import CompiledQLearning
from rl_impls.tabular.learner import QLearner, Settings
from rl_impls.tabular.lists import ListQLearning, SparseQLearning
from rl_impls.tabular.optimal import OptimalQLearning

LEARNERS: Final[dict[str, type[QLearner]]] = {
    name: registry.learner_type(name) for name in registry.LEARNERS
}

__all__ = [
    "LEARNERS",
    "BatchQLearning",
    "CompiledQLearning",
    "Constant",
    "Exponential",
    "GPUQLearning",
    "Linear",
    "ListQLearning",
    "MemoryOptimizedQLearning",
    "NumpyQLearning",
    "OptimalQLearning",
    "QLearner",
    "Settings",
    "SparseQLearning",
]
