"""Slices that get slower as a block goes on, as text and as data."""

from typing import Any

from pytest_rlperf.model.drift import Drift, SideDrift
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.report.intervals import render_interval


def render_drift(drift: Drift | None) -> str | None:
    """One sentence where head's slices get slower; None: they do not."""
    if drift is None or not drift.head.matters:
        return None
    change = drift.head.change
    said = (
        f"slices get slower as a block goes on: {format_percent(change.change)} "
        f"{render_interval(change)} from the first to the last of {drift.slices}"
    )
    return said if drift.base is None else f"{said}; {_of_base(drift.base)}"


def _of_base(base: SideDrift) -> str:
    change = format_percent(base.change.change)
    return f"so they do on the base ({change})" if base.matters else f"not on the base ({change})"


def drift_as_dict(drift: Drift | None) -> dict[str, Any] | None:
    """None: it was not measured, or in too few slices."""
    if drift is None:
        return None
    return {
        "slices": drift.slices,
        "head": _side_as_dict(drift.head),
        "base": None if drift.base is None else _side_as_dict(drift.base),
    }


def _side_as_dict(side: SideDrift) -> dict[str, Any]:
    found = side.change
    return {
        "change": found.change,
        "low": found.low,
        "high": found.high,
        "matters": side.matters,
    }
