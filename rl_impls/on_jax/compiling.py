"""Compiling ahead of the first call, and forgetting what was compiled."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True, slots=True)
class Precompiled:
    """A jitted function for arguments of some shapes; others are refused."""

    function: Callable[..., Any]
    seconds: float  # that tracing and compiling took


def precompile(function: Any, *dummies: Any) -> Precompiled:
    """Compile a jitted function for arguments like these, of which only shapes and types count.

    Nothing is computed. Unlike a first call it says what it took, and a later call with other
    shapes is a mistake and not another compilation.
    """
    begin = time.perf_counter()
    like = jax.tree_util.tree_map(_shaped, dummies)
    compiled = function.lower(*like).compile()
    return Precompiled(compiled, time.perf_counter() - begin)


def _shaped(dummy: Any) -> Any:
    # Without JAX's switch for it, 64 bits become 32 in a call, too.
    kind = jax.dtypes.canonicalize_dtype(dummy.dtype, allow_extended_dtype=True)
    return jax.ShapeDtypeStruct(dummy.shape, kind)


def forget_compiled() -> None:
    """Drop all that JAX compiled in this process: the next call of anything compiles again."""
    jax.clear_caches()
