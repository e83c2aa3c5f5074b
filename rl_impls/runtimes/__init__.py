"""Training in one process or several, and what is watched meanwhile."""

from rl_impls.runtimes.run import (
    Every,
    Facts,
    Hook,
    MakeEnv,
    Progress,
    Runtime,
    Tick,
    Validation,
    run,
)
from rl_impls.runtimes.serial import SerialRuntime

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
