"""Training in one process or several, and what is watched meanwhile."""

from rl_impls.runtimes.run import Every, Hook, Progress, run
from rl_impls.runtimes.runtime import Facts, MakeEnv, Runtime, Tick
from rl_impls.runtimes.serial import SerialRuntime
from rl_impls.runtimes.validation import Validation

__all__ = [
    "Every",
    "Facts",
    "Hook",
    "MakeEnv",
    "Progress",
    "Runtime",
    "SerialRuntime",
    "Tick",
    "Validation",
    "run",
]
