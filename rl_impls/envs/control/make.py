"""A batch by the name of its environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import gymnasium

from rl_impls.envs.control.batch import CompiledBatch
from rl_impls.envs.control.cartpole import cartpole
from rl_impls.envs.control.gymnasium_batch import GymnasiumBatch
from rl_impls.envs.control.pendulum import pendulum
from rl_impls.envs.control.reactor import reactor
from rl_impls.envs.control.rules import Control
from rl_impls.envs.control.side_scroller import side_scroller
from rl_impls.envs.control.step import ControlBatch

COMPILED: Final[dict[str, Callable[..., Control]]] = {
    "rl_impls/CartPole-v1": cartpole,
    "rl_impls/Pendulum-v1": pendulum,
    "ChemicalReactor-v0": reactor,
    "rl_impls/SideScroller-v0": side_scroller,
}


def make_batch(
    name: str, n_envs: int, *, seed: int | None = None, **arguments: Any
) -> ControlBatch:
    """`n_envs` of `gymnasium.make(name, **arguments)`, compiled where there are rules for it."""
    if name in COMPILED:
        return CompiledBatch(COMPILED[name](**arguments), n_envs, seed=seed)
    return GymnasiumBatch([gymnasium.make(name, **arguments) for _ in range(n_envs)], seed=seed)
