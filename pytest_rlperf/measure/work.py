"""The work that a test declares, as counts on which both sides must agree."""

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from pytest_rlperf.errors import FixtureError

Work = Callable[[Any], Mapping[str, float]] | Mapping[str, float] | None
"""Counts, or what takes them from the result of the measured call."""


def _is_count(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def counts(work: Work, result: Any) -> dict[str, float]:
    """The declared work as plain numbers."""
    found = work(result) if callable(work) else (work or {})
    if not isinstance(found, Mapping):
        raise FixtureError(
            f"work must give a mapping of counts, not {type(found).__name__}; "
            'return something like {"updates": 1000}.'
        )
    bad = [name for name, count in found.items() if not _is_count(count)]
    if bad:
        raise FixtureError(
            f"work[{bad[0]!r}] is {found[bad[0]]!r}, not a finite number; "
            "count things the two sides must agree on."
        )
    return {str(name): float(count) for name, count in found.items()}
