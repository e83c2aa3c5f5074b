"""The agents whose updates torch or JAX compute: the one place that knows where they are.

Nothing else of this package imports either. A framework is loaded when an agent on it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from rl_impls.errors import MissingDependency, SettingError

if TYPE_CHECKING:
    from rl_impls.agents.agent import DeepAgent

# By agent and framework: module and class.
ON_FRAMEWORKS: Final = {
    ("dqn", "torch"): ("rl_impls.on_torch.dqn", "TorchDQN"),
    ("ppo", "torch"): ("rl_impls.on_torch.ppo", "TorchPPO"),
    ("dqn", "jax"): ("rl_impls.on_jax.dqn", "JaxDQN"),
    ("ppo", "jax"): ("rl_impls.on_jax.ppo", "JaxPPO"),
}


def framework_type(agent: str, framework: str) -> type[DeepAgent]:
    if (agent, framework) not in ON_FRAMEWORKS:
        known = ", ".join(" on ".join(pair) for pair in ON_FRAMEWORKS)
        raise SettingError(
            f"there is no {agent} on {framework!r}: choose {known}, or the back end 'numpy'."
        )
    require_framework(framework, f"{agent} on {framework}")
    module, name = ON_FRAMEWORKS[agent, framework]
    found: type[DeepAgent] = getattr(import_module(module), name)
    return found


def require_framework(name: str, what: str) -> None:
    if find_spec(name) is None:
        raise MissingDependency(
            f"{what} needs {name}, which is not installed: pip install 'pytest-rlperf[{name}]', "
            "or choose the back end 'numpy'."
        )
