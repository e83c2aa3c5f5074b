"""The course of memory over time."""

import os
import time

import pytest

from pytest_rlperf.measure.memory import curve
from pytest_rlperf.measure.memory.curve import Curve


def test_without_the_package_there_is_no_curve(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(curve, "find_spec", lambda name: None)
    with Curve(os.getpid()) as found:
        pass
    assert found.points == []


def test_points_are_seconds_and_bytes():
    pytest.importorskip("memory_profiler")
    with Curve(os.getpid()) as found:
        while len(found.points) < 3:
            time.sleep(0.01)
    seconds, sizes = zip(*found.points, strict=True)
    assert list(seconds) == sorted(seconds)
    assert min(sizes) > 2**20


def test_a_process_that_is_gone_ends_its_curve():
    with Curve(2**22 + 1) as found:
        pass
    assert found.points == []
