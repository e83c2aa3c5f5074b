"""Environments with Gymnasium's interface, single and batched.

Importing this package makes those of `registry.ENVIRONMENTS` known to `gymnasium.make`, and the
games among them to `gymnasium.make_vec`.
"""

from gymnasium import register, registry

from rl_impls.registry import ENVIRONMENTS

for _name, _entry in ENVIRONMENTS.items():
    if _name not in registry:
        register(
            _name,
            entry_point=_entry.single,
            vector_entry_point=_entry.vector,
            max_episode_steps=_entry.max_steps,
        )
