"""Environments with continuous observations or frames, compiled: CartPole, Pendulum, a chemical
reactor and a side scroller.

Their time limits stand here, where `rl_impls.envs` reads them without importing numba.
"""

from typing import Final

CARTPOLE_STEPS: Final = 500
PENDULUM_STEPS: Final = 200
REACTOR_STEPS: Final = 300
SIDE_SCROLLER_STEPS: Final = 500
