"""Environments with Gymnasium's interface, single and batched.

Importing this package makes `TicTacToe-v0`, `TwoArmedBandit-v0`, `ChemicalReactor-v0`,
`rl_impls/CartPole-v1`, `rl_impls/Pendulum-v1` and `rl_impls/SideScroller-v0` known to
`gymnasium.make` and `gymnasium.make_vec`.
"""

from gymnasium import register, registry

from rl_impls.envs.control import (
    CARTPOLE_STEPS,
    PENDULUM_STEPS,
    REACTOR_STEPS,
    SIDE_SCROLLER_STEPS,
)

for _name in ("TicTacToe", "TwoArmedBandit"):
    if f"{_name}-v0" not in registry:
        register(
            f"{_name}-v0",
            entry_point=f"rl_impls.envs.games:{_name}Env",
            vector_entry_point=f"rl_impls.envs.games:{_name}VectorEnv",
        )

for _id, _class, _max_steps in (
    ("rl_impls/CartPole-v1", "CartPoleEnv", CARTPOLE_STEPS),
    ("rl_impls/Pendulum-v1", "PendulumEnv", PENDULUM_STEPS),
    ("ChemicalReactor-v0", "ChemicalReactorEnv", REACTOR_STEPS),
    ("rl_impls/SideScroller-v0", "SideScrollerEnv", SIDE_SCROLLER_STEPS),
):
    if _id not in registry:
        register(
            _id,
            entry_point=f"rl_impls.envs.control.compiled:{_class}",
            max_episode_steps=_max_steps,
        )
