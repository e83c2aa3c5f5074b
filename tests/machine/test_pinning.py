"""Real children on real cores: who works during a call gets a core, who does not is left alone."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from pytest_rlperf.machine.host import (
    available_cores,
    on_core_ns,
    pin,
    pin_job,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not on_core_ns(os.getpid()) or len(available_cores()) < 2,
    reason="needs Linux with its schedstat and two cores",
)

WORKER = """
import sys, time
for line in sys.stdin:
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass
    print("done", flush=True)
"""

Child = subprocess.Popen[str]


@pytest.fixture(autouse=True)
def own_cores() -> Iterator[tuple[int, ...]]:
    """This process gets its cores back."""
    before = available_cores()
    yield before
    pin(before)


@pytest.fixture
def children() -> Iterator[list[Child]]:
    """Three of them, in order of birth; each computes for a moment when it is sent a line."""
    pipe = subprocess.PIPE
    argv = [sys.executable, "-I", "-S", "-c", WORKER]
    made = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    for child in made:
        work(child)  # it is up
        while psutil.Process(child.pid).status() != psutil.STATUS_SLEEPING:
            pass  # on its way back to waiting
    yield made
    for child in made:
        child.communicate()


def work(child: Child) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("go\n")
    child.stdin.flush()
    assert child.stdout.readline() == "done\n"


def test_each_child_that_works_gets_a_core_in_order_of_birth_and_idle_ones_keep_theirs(
    children: list[Child], own_cores: tuple[int, ...]
):
    first, idle, second = children

    def call() -> None:
        work(second)
        work(first)

    cores = own_cores[:2]
    assert pin_job(cores, call) == [first.pid, second.pid]
    assert os.sched_getaffinity(first.pid) == {cores[1]}
    assert os.sched_getaffinity(second.pid) == {cores[0]}  # more processes than cores
    assert os.sched_getaffinity(idle.pid) == set(own_cores)
    assert os.sched_getaffinity(0) == {cores[0]}


@pytest.mark.usefixtures("children")
def test_where_no_child_works_nobody_is_pinned(own_cores: tuple[int, ...]):
    assert pin_job(own_cores[:2], lambda: None) == []
    assert os.sched_getaffinity(0) == set(own_cores)


def test_a_child_that_lives_for_one_call_only_is_placed_by_the_kernel(own_cores: tuple[int, ...]):
    def call() -> None:
        subprocess.run([sys.executable, "-I", "-S", "-c", "sum(range(10**6))"], check=True)

    assert pin_job(own_cores[:2], call) == []
    assert os.sched_getaffinity(0) == set(own_cores)


def test_without_cores_to_pin_to_the_working_children_are_still_found(
    children: list[Child], own_cores: tuple[int, ...]
):
    assert pin_job((), lambda: work(children[0])) == [children[0].pid]
    assert os.sched_getaffinity(children[0].pid) == set(own_cores)


def test_the_time_of_a_process_that_is_gone_is_zero():
    gone = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    gone.wait()
    assert on_core_ns(gone.pid) == 0
