"""The values of one state, in a list or an array: its best legal action, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence

from rl_impls.envs.tabular import Legal


def best_action(row: Sequence[float], legal: Legal) -> int:
    """The first of equals."""
    if legal is None:
        return row.index(max(row))
    values = [row[a] for a in legal]
    return legal[values.index(max(values))]


def best_value(row: Sequence[float], legal: Legal) -> float:
    """0 where no action is legal."""
    return max(row if legal is None else [row[a] for a in legal], default=0.0)
