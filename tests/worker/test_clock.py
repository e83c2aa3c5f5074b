"""The clock of a slice, on a kernel whose figures are written down beforehand.

Of the time of a job, what waiting for a core cost the last process is left out, and nothing else.
"""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.phases import listen, phase
from pytest_rlperf.worker import clock as clock_module
from pytest_rlperf.worker.clock import (
    COST_PHASES,
    Elapsed,
    JobClock,
    PhaseClock,
    SystemClock,
    job_elapsed,
)
from tests.factories import FakeClock, examples


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


# -- time of a job ------------------------------------------------------------------------------


MAIN = Elapsed(wall_ns=100, cpu_ns=60, delay_ns=10)


@pytest.mark.parametrize(
    ("main", "children", "own_ns"),
    [
        (MAIN, [], 90),  # alone: its own wait
        (MAIN, [(60, 10)], 90),  # side by side, both waited
        (MAIN, [(60, 0)], 90),  # only the caller waited, and was last
        (Elapsed(100, 60, 0), [(60, 40)], 60),  # only the child waited, and was last
        (Elapsed(100, 100, 0), [(20, 50)], 100),  # the child waited, but was not last
    ],
)
def test_only_the_wait_of_the_last_process_is_left_out(main, children, own_ns):
    assert job_elapsed(main, children).own_ns == own_ns


def test_cpu_time_is_everybodys():
    assert job_elapsed(MAIN, [(50, 0), (40, 0)]).cpu_ns == 150


def test_a_child_that_has_ended_counts_for_nothing():
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    clock = JobClock([gone])
    clock.start()
    assert clock.stop().wall_ns > 0


def test_a_child_that_ends_within_a_slice_takes_no_time_back(monkeypatch: pytest.MonkeyPatch):
    readings = deque([(10**15, 10**15), (0, 0)])  # the kernel forgets it
    monkeypatch.setattr(clock_module, "schedstat", lambda pid: readings.popleft())
    clock = JobClock([7])
    clock.start()
    elapsed = clock.stop()
    assert min(elapsed) >= 0
    assert 0 < elapsed.own_ns <= elapsed.wall_ns


# -- phases: whose time is whose, and what cannot be summed up ----------------------------------


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    yield
    listen(None)


def timed(work: Callable[[FakeClock], None], slices: int = 1) -> tuple[PhaseClock, list[Elapsed]]:
    inner = FakeClock()
    clock = PhaseClock(inner, inner.read_ns)
    found = []
    for _ in range(slices):
        clock.start()
        work(inner)
        found.append(clock.stop())
    return clock, found


def test_a_phase_has_its_share_of_the_time():
    def work(clock: FakeClock) -> None:
        clock.compute(30)
        with phase("learn"):
            clock.compute(70)

    clock, elapsed = timed(work, slices=3)
    assert clock.shares == {"learn": pytest.approx(0.7, abs=0.001)}
    assert [each.wall_ns for each in elapsed] == [100] * 3


def test_waiting_for_a_core_is_no_time_of_a_phase():
    def work(clock: FakeClock) -> None:
        with phase("act"):
            clock.compute(50)
            clock.wait_for_core(1000)
        clock.compute(50)

    clock, _ = timed(work)
    assert clock.shares == {"act": pytest.approx(0.5, abs=0.001)}


def test_what_an_inner_phase_takes_is_not_the_outer_ones():
    def work(clock: FakeClock) -> None:
        with phase("learn"):
            clock.compute(10)
            with phase("sample"):
                clock.compute(60)
            clock.compute(30)

    clock, _ = timed(work)
    assert clock.shares == {
        "learn": pytest.approx(0.4, abs=0.001),
        "sample": pytest.approx(0.6, abs=0.001),
    }


parts = st.recursive(
    st.integers(1, 1000), lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=12
)


@examples
@given(parts)
def test_the_shares_of_nested_phases_never_exceed_the_whole(tree: object):
    def work(clock: FakeClock, part: object = tree, depth: int = 0) -> None:
        if isinstance(part, int):
            clock.compute(part)
            return
        assert isinstance(part, list)
        for inner in part:
            with phase(f"depth {depth}"):
                work(clock, inner, depth + 1)

    clock, _ = timed(work)
    whole = 0.0 if isinstance(tree, int) else 1.0
    assert sum(clock.shares.values()) == pytest.approx(whole, abs=0.001)


def test_phases_of_another_thread_are_left_out():
    def work(clock: FakeClock) -> None:
        def beside() -> None:
            with phase("beside"):
                pass

        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()
        with phase("learn"):
            clock.compute(100)

    assert list(timed(work)[0].shares) == ["learn"]


def test_what_phases_cost_is_left_out_of_the_time():
    class Slow(FakeClock):
        """Every reading takes 5 ns: ten for the two ends of a phase."""

        def read_ns(self) -> int:
            self.compute(5)
            return super().read_ns()

    inner = Slow()
    clock = PhaseClock(inner, inner.read_ns)
    clock.start()
    for _ in range(100):
        with phase("learn"):
            inner.compute(90)
    assert clock.stop() == Elapsed(9000, 9000, 0)
    assert clock.shares == {"learn": pytest.approx(1.0, abs=0.001)}
    assert COST_PHASES >= 100


def test_a_function_without_phases_is_timed_as_it_is():
    clock, elapsed = timed(lambda clock: clock.compute(100))
    assert elapsed == [Elapsed(100, 100, 0)]
    assert clock.shares == {}


def never_closed(clock: FakeClock) -> None:
    phase("learn").__enter__()


def inside_itself(clock: FakeClock) -> None:
    with phase("learn"), phase("learn"):
        pass


def crossing(clock: FakeClock) -> None:
    outer, inner = phase("outer"), phase("inner")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)


def only_closed(clock: FakeClock) -> None:
    phase("learn").__exit__(None, None, None)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (never_closed, r"^the phase 'learn' was never closed; write with rlperf\.phase\('learn'\)"),
        (inside_itself, "^the phase 'learn' was entered inside itself; give the inner one another"),
        (crossing, "^the phase 'outer' was closed while 'inner' was open inside it; use phases by"),
        (only_closed, "^the phase 'learn' was closed before it was entered; use phases by with"),
    ],
)
def test_phases_that_cannot_be_summed_up_are_refused_in_one_line(
    work: Callable[[FakeClock], None], message: str
):
    with pytest.raises(FixtureError, match=message) as raised:
        timed(work)
    assert "\n" not in str(raised.value)
