"""A performance gate for pytest that holds on noisy machines."""

from pytest_rlperf.phases import phase

__all__ = ["phase"]
