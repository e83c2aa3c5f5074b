"""The profilers' clock asks the kernel only where there may have been a wait."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from pytest_rlperf.measure.profiling import own_time
from pytest_rlperf.measure.profiling.own_time import GAP_NS, own_time_reader


class Kernel:
    """Wall time and waits of a thread, both set by the test."""

    def __init__(self) -> None:
        self.wall_ns = self.waited_ns = 10**9
        self.asked = 0

    def run_delay_ns(self) -> int:
        self.asked += 1
        return self.waited_ns


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    clock = SimpleNamespace(perf_counter_ns=lambda: kernel.wall_ns)
    monkeypatch.setattr(f"{own_time.__name__}.time", clock)
    monkeypatch.setattr(own_time, "_run_delay_reader", lambda: kernel.run_delay_ns)
    return kernel


def passed_ns(read_ns: Callable[[], int], kernel: Kernel, wall_ns: int, waited_ns: int = 0) -> int:
    before = read_ns()
    kernel.wall_ns += wall_ns
    kernel.waited_ns += waited_ns
    return read_ns() - before


def test_short_times_are_wall_time_and_cost_no_question(kernel: Kernel):
    read_ns = own_time_reader()
    asked = kernel.asked
    assert passed_ns(read_ns, kernel, 700) == 700
    assert kernel.asked == asked


def test_a_wait_for_the_core_is_left_out(kernel: Kernel):
    assert passed_ns(own_time_reader(), kernel, 4_000_000, waited_ns=3_000_000) == 1_000_000


def test_a_long_function_keeps_all_its_time(kernel: Kernel):
    assert passed_ns(own_time_reader(), kernel, 100 * GAP_NS) == 100 * GAP_NS


def test_sleeping_is_time(kernel: Kernel):
    assert passed_ns(own_time_reader(), kernel, 10**9, waited_ns=0) == 10**9


def test_where_the_kernel_does_not_tell_it_is_wall_time(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(own_time, "_run_delay_reader", lambda: None)
    assert passed_ns(own_time_reader(), kernel, 4_000_000, waited_ns=3_000_000) == 4_000_000


def test_the_real_clock_goes_forward():
    read_ns = own_time_reader()
    readings = [read_ns() for _ in range(1000)]
    assert readings == sorted(readings)
