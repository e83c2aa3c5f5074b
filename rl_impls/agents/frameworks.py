"""The agents whose updates torch or JAX compute: the one place that knows where they are.

Nothing else of this package imports either. A framework is loaded when an agent on it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from rl_impls.agents.pixels import PIXEL_DQN
from rl_impls.errors import MissingDependency

if TYPE_CHECKING:
    from rl_impls.agents.agent import DeepAgent

# By agent and framework: module and class.
ON_FRAMEWORKS: Final = {
    ("dqn", "torch"): ("rl_impls.on_torch.dqn", "TorchDQN"),
    ("ppo", "torch"): ("rl_impls.on_torch.ppo", "TorchPPO"),
    ("dqn", "jax"): ("rl_impls.on_jax.dqn", "JaxDQN"),
    ("ppo", "jax"): ("rl_impls.on_jax.ppo", "JaxPPO"),
    (PIXEL_DQN, "torch"): ("rl_impls.on_torch.pixel_dqn", "PixelDQN"),
}


def frameworks_of(agent: str) -> tuple[str, ...]:
    return tuple(framework for name, framework in ON_FRAMEWORKS if name == agent)


def framework_type(agent: str, framework: str) -> type[DeepAgent]:
    if find_spec(framework) is None:
        raise MissingDependency(
            f"{agent} on {framework} needs {framework}, which is not installed: "
            f"pip install 'pytest-rlperf[{framework}]', or choose another back end or agent."
        )
    module, name = ON_FRAMEWORKS[agent, framework]
    found: type[DeepAgent] = getattr(import_module(module), name)
    return found
