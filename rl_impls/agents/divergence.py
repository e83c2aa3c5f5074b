"""An end to trainings whose numbers are no longer finite, before they reach the parameters."""

from __future__ import annotations

import math

from rl_impls.errors import Diverged


def require_finite(agent: str, n_steps: int, rate: float, **values: float) -> None:
    """To be asked between a gradient and the step of its optimiser: what was learned is kept."""
    for name, value in values.items():
        if not math.isfinite(value):
            raise Diverged(
                f"{agent}, step {n_steps:,}: the {name} is {value}, and was kept away from the "
                f"parameters: choose a learning rate below {rate:g}, or look for observations and "
                "rewards that are not finite."
            )
