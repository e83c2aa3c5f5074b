"""The one place that knows numba: compiled functions, and what is said where it is missing."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from rl_impls.errors import MissingDependency

Function = TypeVar("Function", bound=Callable[..., Any])


def has_numba() -> bool:
    return find_spec("numba") is not None


def require_numba(what: str, *, otherwise: str = "choose another learner") -> None:
    if not has_numba():
        raise MissingDependency(
            f"{what} needs numba, which is not installed: pip install 'pytest-rlperf[impls]', "
            f"or {otherwise}."
        )


def compiled(function: Function) -> Function:
    """Compile at the first call and keep the result on disk for the next process."""
    from numba import njit

    # "contract" lets a product and a sum become one instruction, as C compilers do by default.
    options = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
    return cast(Function, options(function))


def inlined(function: Function) -> Function:
    """Make a function part of the compiled functions that call it, and leave it plain for everybody
    else."""
    if not has_numba():
        return function
    from numba.extending import register_jitable

    return register_jitable(function)


def version_of(*modules: ModuleType) -> int:
    """Return a number that changes with the source of these modules.

    Numba's cache looks only at the file of the function it compiled. A function that calls into
    another file closes over that file's version, and closed-over values belong to the cache's key.
    """
    sources = [Path(cast(str, module.__file__)).read_bytes() for module in modules]
    return zlib.crc32(b"".join(sources))
