"""The clock of a slice, on a kernel whose figures are written down beforehand."""

import sys
import time
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rlperf.measure import clock as clock_module
from pytest_rlperf.measure.clock import Elapsed, SystemClock


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> deque[int]:
    """Readings to come of the wall clock; the process's CPU clock stands at 40 ns, then at 100 ns,
    that of the thread at 30 ns, then at 85 ns.
    """
    readings: deque[int] = deque()
    cpu, on_core = deque([40, 100]), deque([30, 85])
    fake = SimpleNamespace(
        perf_counter_ns=readings.popleft,
        process_time_ns=cpu.popleft,
        thread_time_ns=on_core.popleft,
    )
    monkeypatch.setattr(clock_module, "time", fake)
    return readings


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> deque[int]:
    """How often the thread had blocked before the slice, and after it."""
    readings = deque([7, 8])
    monkeypatch.setattr(clock_module, "times_blocked", readings.popleft)
    return readings


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> deque[int]:
    """Readings to come of the run-queue delay; the first is taken when the clock is made."""
    readings: deque[int] = deque([0])

    def pread(fd: int, size: int, offset: int) -> bytes:
        return f"123456 {readings.popleft()} 78\n".encode()

    fake = SimpleNamespace(open=lambda path, flags: 3, pread=pread, O_RDONLY=0)
    monkeypatch.setattr(clock_module, "os", fake)
    return readings


@pytest.fixture
def no_kernel_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(clock_module, "SCHEDSTAT", str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("elapsed", "own_ns"),
    [
        (Elapsed(100, 100, 0), 100),
        (Elapsed(100, 60, 40), 60),
        (Elapsed(100, 10, 0), 100),  # blocked: it counts
        (Elapsed(100, 0, 100), 1),
        (Elapsed(100, 0, 130), 1),
        (Elapsed(0, 0, 0), 1),
    ],
)
def test_own_time_is_wall_time_less_the_waiting_for_a_core(elapsed: Elapsed, own_ns: int):
    assert elapsed.own_ns == own_ns


@pytest.mark.usefixtures("blocked")
def test_a_slice_is_the_difference_of_the_readings(wall: deque[int], delays: deque[int]):
    wall.extend([1_000, 1_500])
    delays.extend([70, 70, 90, 90])
    clock = SystemClock()
    assert clock.sees_delay
    clock.start()
    assert clock.stop() == Elapsed(wall_ns=500, cpu_ns=60, delay_ns=20)


def test_code_that_never_blocked_waited_whenever_it_was_not_on_its_core(
    wall: deque[int], delays: deque[int], blocked: deque[int]
):
    wall.extend([1_000, 1_500])
    delays.extend([70, 70, 90, 90])  # the kernel knows of 20 ns, the hypervisor took the rest
    blocked[1] = blocked[0]
    clock = SystemClock()
    clock.start()
    assert clock.stop() == Elapsed(wall_ns=500, cpu_ns=60, delay_ns=445)


@pytest.mark.usefixtures("blocked")
def test_both_readings_are_repeated_while_the_delay_moves(wall: deque[int], delays: deque[int]):
    wall.extend([900, 950, 1_000, 1_500])
    delays.extend([10, 30, 70, 70, 70, 70])  # twice the core was lost between two readings
    clock = SystemClock()
    clock.start()
    assert clock.stop() == Elapsed(wall_ns=500, cpu_ns=60, delay_ns=0)
    assert not wall
    assert not delays


@pytest.mark.parametrize("text", ["", "5", "a b c"])
def test_figures_that_cannot_be_read_are_done_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
):
    (tmp_path / "schedstat").write_text(text)
    monkeypatch.setattr(clock_module, "SCHEDSTAT", str(tmp_path / "schedstat"))
    assert not SystemClock().sees_delay


@pytest.mark.usefixtures("no_kernel_figures")
@pytest.mark.parametrize(
    ("wall_ns", "delay_ns", "why"),
    [
        (100, 40, "bound by the CPU: the rest is waiting for a core"),
        (60, 0, "computed all the time"),
        (50, 0, "threads: more CPU time than wall time"),
        (120, 0, "computed for half of the time only: it waits by itself"),
    ],
)
def test_elsewhere_cpu_time_tells_the_delay(
    wall: deque[int], wall_ns: int, delay_ns: int, why: str
):
    wall.extend([1_000, 1_000 + wall_ns])
    clock = SystemClock()
    clock.start()
    assert clock.stop() == Elapsed(wall_ns, 60, delay_ns), why


@pytest.mark.usefixtures("no_kernel_figures")
def test_elsewhere_code_known_to_compute_has_the_rest_of_the_wall_time_as_delay(wall: deque[int]):
    wall.extend([1_000, 1_180])  # a third of it on the core: the other side had the rest
    clock = SystemClock()
    clock.cpu_bound = True
    clock.start()
    assert clock.stop() == Elapsed(wall_ns=180, cpu_ns=60, delay_ns=120)


@pytest.mark.usefixtures("blocked")
def test_where_the_kernel_tells_the_delay_nothing_is_guessed(wall: deque[int], delays: deque[int]):
    wall.extend([1_000, 1_180])
    delays.extend([70, 70, 90, 90])
    clock = SystemClock()
    clock.cpu_bound = True
    clock.start()
    assert clock.stop() == Elapsed(wall_ns=180, cpu_ns=60, delay_ns=20)


@pytest.mark.skipif(sys.platform != "linux", reason="no run-queue delay")
def test_the_real_clock_counts_time_spent_asleep():
    clock = SystemClock()
    clock.start()
    time.sleep(0.02)
    assert clock.stop().own_ns >= 15_000_000


def test_the_real_clock_sees_time_pass_and_no_more_cpu_time_than_there_is():
    clock = SystemClock()
    clock.start()
    sum(range(10_000))
    elapsed = clock.stop()
    assert elapsed.wall_ns > 0
    assert elapsed.cpu_ns >= 0
    assert elapsed.delay_ns >= 0


@pytest.mark.usefixtures("blocked")
def test_where_other_threads_compute_cpu_time_of_all_of_them_counts(
    wall: deque[int], delays: deque[int]
):
    wall.extend([1_000, 1_100])
    delays.extend([70, 70, 90, 90])
    clock = SystemClock()
    clock.hosted = True
    clock.start()
    assert clock.stop() == Elapsed(wall_ns=100, cpu_ns=60, delay_ns=40)
