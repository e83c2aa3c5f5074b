"""Environments with Gymnasium's interface, single and batched.

Importing this package makes `TicTacToe-v0` and `TwoArmedBandit-v0` known to `gymnasium.make` and
`gymnasium.make_vec`.
"""

from gymnasium import register, registry

for _name, _module in (("TicTacToe", "tictactoe"), ("TwoArmedBandit", "bandit")):
    if f"{_name}-v0" not in registry:
        register(
            f"{_name}-v0",
            entry_point=f"rl_impls.envs.{_module}:{_name}Env",
            vector_entry_point=f"rl_impls.envs.{_module}:{_name}VectorEnv",
        )
