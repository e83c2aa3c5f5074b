"""Intervals as text."""

from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.verdict import Interval


def render_interval(interval: Interval) -> str:
    """ "[+1.2, +3.4 %]"."""
    return f"[{format_percent(interval.low)}, {format_percent(interval.high)}]".replace(" %,", ",")
