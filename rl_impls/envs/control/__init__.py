"""Environments with continuous observations, compiled: CartPole, Pendulum and a chemical reactor.

Their time limits stand here, where `rl_impls.envs` reads them without importing numba.
"""

from typing import Final

CARTPOLE_STEPS: Final = 500
PENDULUM_STEPS: Final = 200
REACTOR_STEPS: Final = 300
