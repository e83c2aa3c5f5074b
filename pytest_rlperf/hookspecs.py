"""Hooks this plugin offers to conftests and other plugins."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_rlperf.worker.clock import Clock


@pytest.hookspec(firstresult=True)
def pytest_rlperf_clock(config: pytest.Config) -> "Clock | None":
    """Return the clock that times slices, to test a gate or to use a better source of time.

    One with `compute(ns)` and `sleep(ns)` lets its own time pass where `--rlperf-prove` makes
    slices slower.
    """
