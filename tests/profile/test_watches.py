"""Operators of torch in watched slices: with a stand-in for its profiler, and with the real one."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.profile import Profiling, SlicesProfile
from pytest_rlperf.profile.clock import ProfilingClock, operator_watches
from pytest_rlperf.worker.calls import Calls
from tests.factories import FakeClock

PLAN = Plan(Mode.SLICED, calls=2, pairs=12, warmup=0, profile=Profiling.FUNCTIONS)


class Profile:
    """Two products and a copy in every slice, in microseconds."""

    running = 0

    def start(self) -> None:
        Profile.running += 1

    def stop(self) -> None:
        Profile.running -= 1

    def key_averages(self) -> list[Any]:
        mm = {"count": 4, "self_cpu_time_total": 6.0, "self_device_time_total": 2.0}
        copy = {"count": 2, "self_cpu_time_total": 1.0}  # as older ones, which know no devices
        return [
            SimpleNamespace(key="aten::mm", **mm),
            SimpleNamespace(key="aten::copy_", **copy),
            SimpleNamespace(key="[memory]", count=9, self_cpu_time_total=9.0),
        ]


def watched(function: Any) -> SlicesProfile:
    clock = FakeClock()
    profiling, calls = ProfilingClock(clock, PLAN, clock.read_ns), Calls(function)
    for _ in range(PLAN.pairs):
        calls.timed(PLAN.calls, profiling)
    return profiling.profile()


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(profiler=SimpleNamespace(profile=Profile))
    monkeypatch.setitem(sys.modules, "torch", module)


@pytest.mark.usefixtures("torch")
def test_calls_and_time_are_those_of_one_call_of_the_test():
    operators = watched(lambda: None).operators
    assert operators == {"aten::mm": (2.0, 4_000.0), "aten::copy_": (1.0, 500.0)}
    assert Profile.running == 0


@pytest.mark.usefixtures("torch")
def test_functions_and_stacks_are_watched_in_the_other_slices():
    profile = watched(lambda: None)
    assert profile.calls == PLAN.calls * 8  # of twelve slices
    assert profile.functions


def test_a_test_without_torch_has_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert operator_watches() == ()
    assert watched(lambda: None).operators == {}


def test_the_profiler_of_torch_is_understood():
    torch = pytest.importorskip(
        "torch", reason="torch is not installed: pip install 'pytest-rlperf[torch]'"
    )
    x = torch.ones((64, 64))
    calls, ns = watched(lambda: x @ x).operators["aten::mm"]
    assert calls == 1.0
    assert 100 < ns < 1e9
