"""A program that runs two modules' `run` once and prints whether both returned the same: the first
word is `equal`, `close`, `different` or `unknown`. What both print themselves is dropped.
"""

import contextlib
import io
import math
import reprlib
import runpy
import sys
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Any

CLOSE = 1e-9
"""Relative: a sum in another order ends in other digits."""


def main(before: str, after: str) -> str:
    results = []
    for side, path in (("before", before), ("after", after)):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                results.append(runpy.run_path(path)["run"]())
        except Exception as error:
            return f"different {side} raises {type(error).__name__}: {error}"
    return compared(*results)


def compared(before: object, after: object) -> str:
    if before is None and after is None:
        return "unknown neither returns anything that could be compared"
    shown = f"{_short(before)} and {_short(after)}"
    same = is_same(before, after)
    if same is None:
        return f"unknown what they return cannot be compared: {shown}"
    if not same:
        return f"different before returns {_short(before)}, after {_short(after)}"
    exactly = is_same(before, after, exactly=True)
    return f"equal both return {_short(after)}" if exactly else f"close both return about {shown}"


def _short(value: object) -> str:
    return " ".join(reprlib.repr(value).split())


def is_same(a: Any, b: Any, exactly: bool = False) -> bool | None:
    """Return whether two results are the same, floats as far as their order of adding matters;
    None: they do not say.
    """
    if isinstance(a, float) and isinstance(b, float):
        close = 0.0 if exactly else CLOSE
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=close)
    if hasattr(a, "__array__") and hasattr(b, "__array__"):
        return _same_arrays(a, b, exactly)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and _all(is_same(a[k], b[k], exactly) for k in a)
    if _is_row(a) and _is_row(b):
        pairs = zip(a, b, (exactly for _ in a), strict=False)
        return len(a) == len(b) and type(a) is type(b) and _all(starmap(is_same, pairs))
    if a is b:
        return True
    try:
        if a.__eq__(b) is NotImplemented and b.__eq__(a) is NotImplemented:
            # Each side makes a class of its own of this name, whose objects know no others.
            return None if type(a).__qualname__ == type(b).__qualname__ else False
        return bool(a == b)
    except (TypeError, ValueError):
        return None


def _all(answers: Any) -> bool | None:
    known = list(answers)
    return False if False in known else None if None in known else True


def _is_row(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _same_arrays(a: Any, b: Any, exactly: bool) -> bool:
    import numpy as np

    one, other = np.asarray(a), np.asarray(b)
    if one.shape != other.shape:
        return False
    if exactly or not np.issubdtype(one.dtype, np.inexact):
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, rtol=CLOSE, atol=0, equal_nan=True))


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
