"""Time of a job: what waiting for a core cost the last process is left out, nothing else."""

import os
from collections import deque

import pytest

from pytest_rlperf.measure import job_clock
from pytest_rlperf.measure.clock import Elapsed
from pytest_rlperf.measure.job_clock import JobClock, job_elapsed

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
    monkeypatch.setattr(job_clock, "schedstat", lambda pid: readings.popleft())
    clock = JobClock([7])
    clock.start()
    elapsed = clock.stop()
    assert min(elapsed) >= 0
    assert 0 < elapsed.own_ns <= elapsed.wall_ns
