"""Neural networks in NumPy and, where it is installed, Numba."""

from __future__ import annotations

from typing import Any

from rl_impls import jit


def fastest() -> Any:
    """Return the module `kernels`, or `plain`, which has the same functions."""
    if jit.has_numba():
        from rl_impls.nets import kernels

        return kernels
    from rl_impls.nets import plain

    return plain
