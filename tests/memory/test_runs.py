"""The course of memory over time."""

import os
import time

import pytest

from pytest_rlperf.memory import runs
from pytest_rlperf.memory.runs import MemoryCurve


def test_without_the_package_there_is_no_curve(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runs, "find_spec", lambda name: None)
    with MemoryCurve(os.getpid()) as found:
        pass
    assert found.points == []


def test_points_are_seconds_and_bytes():
    pytest.importorskip("memory_profiler")
    with MemoryCurve(os.getpid()) as found:
        while len(found.points) < 3:
            time.sleep(0.01)
    seconds, sizes = zip(*found.points, strict=True)
    assert list(seconds) == sorted(seconds)
    assert min(sizes) > 2**20


def test_a_process_that_is_gone_ends_its_curve():
    with MemoryCurve(2**22 + 1) as found:
        pass
    assert found.points == []
