"""Facts beside a measurement, from a written-down /proc/stat, and the addresses of programs."""

import os
import sys
import time
from pathlib import Path

import pytest

from pytest_rlperf.machine import host
from pytest_rlperf.machine.host import (
    ASK,
    can_fix_addresses,
    core_ticks,
    ended_children_cpu,
    fixed_addresses,
    involuntary_switches,
    steal_share,
    threads_delay_ns,
)
from pytest_rlperf.workers.process import Process

STAT = """\
cpu  100 0 50 800 10 0 5 35 90 0
cpu0 40 0 20 400 5 0 5 30 45 0
cpu1 60 0 30 400 5 0 0 5 45 0
intr 12345 0 9
ctxt 6789
"""


@pytest.fixture
def stat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "stat"
    path.write_text(STAT)
    monkeypatch.setattr(host, "PROC_STAT", path)
    return path


@pytest.mark.usefixtures("stat")
@pytest.mark.parametrize(
    ("core", "ticks"), [(0, (30, 500)), (1, (5, 500)), (None, (35, 1000)), (64, (0, 0))]
)
def test_stolen_and_all_ticks_are_read_by_core(core: int | None, ticks: tuple[int, int]):
    assert core_ticks(core) == ticks  # a guest's time is in the user's already


def test_an_old_kernel_that_does_not_count_steal_has_none(stat: Path):
    stat.write_text("cpu0 40 0 20 400\n")
    assert core_ticks(0) == (0, 460)


def test_a_platform_without_the_file_says_nothing(stat: Path):
    stat.unlink()
    assert core_ticks(0) == (0, 0)


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        ((10, 1000), (30, 1100), 0.2),
        ((10, 1000), (10, 1100), 0.0),
        ((10, 1000), (10, 1000), 0.0),
        ((0, 0), (0, 0), 0.0),
    ],
)
def test_the_share_stolen_between_two_looks(
    before: tuple[int, int], after: tuple[int, int], share: float
):
    assert steal_share(before, after) == pytest.approx(share)


def test_lost_cores_are_counted_upwards():
    first = involuntary_switches()
    assert 0 <= first <= involuntary_switches()


@pytest.mark.skipif(sys.platform == "win32", reason="cannot fork")
def test_the_cpu_time_of_a_child_counts_when_it_has_been_waited_for():
    before = ended_children_cpu()
    child = os.fork()
    if child == 0:
        while time.process_time() < 0.05:
            pass
        os._exit(0)
    os.waitpid(child, 0)
    assert ended_children_cpu() - before == pytest.approx(0.05, rel=0.5)


def test_windows_says_neither(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert involuntary_switches() == 0
    assert ended_children_cpu() == 0


def test_the_waiting_of_all_threads_is_summed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number, text in (("1", "5 70 2"), ("2", "5 30 2"), ("3", "gone")):
        (tmp_path / number).mkdir()
        (tmp_path / number / "schedstat").write_text(text)
    monkeypatch.setattr(host, "PROC_TASKS", tmp_path)
    assert threads_delay_ns() == 100
    monkeypatch.setattr(host, "PROC_TASKS", tmp_path / "missing")
    assert threads_delay_ns() == 0


# -- where programs are loaded in the processes that measure ------------------------------------


linux = pytest.mark.skipif(sys.platform != "linux", reason="a system call of Linux")

WHERE = "print(next(line.split('-')[0] for line in open('/proc/self/maps') if 'libc' in line))"


def where(tmp_path: Path) -> str:
    """Return the address at which a fresh process finds the C library."""
    process = Process(
        [sys.executable, "-I", "-S", "-c", WHERE],
        env=os.environ,
        cwd=str(tmp_path),
        cores=(),
        fds=(),
        log=tmp_path / "log",
    )
    assert process.wait(30)
    return process.output_tail()


@linux
@pytest.mark.skipif(not can_fix_addresses(), reason="this container forbids it")
def test_every_worker_has_its_libraries_at_the_same_place(tmp_path: Path):
    assert len({where(tmp_path) for _ in range(3)}) == 1


@linux
def test_this_process_stays_as_it_is():
    personality = host._personality()
    before = personality(ASK)
    with pytest.raises(KeyError), fixed_addresses():
        raise KeyError
    assert personality(ASK) == before


@pytest.mark.parametrize("answers", [{}, {ASK: 0}], ids=["no such call", "forbidden"])
def test_where_the_system_refuses_processes_start_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[int, int]
):
    monkeypatch.setattr(host, "_personality", lambda: lambda asked: answers.get(asked, -1))
    can_fix_addresses.cache_clear()
    assert not can_fix_addresses()
    can_fix_addresses.cache_clear()
    assert where(tmp_path)


@pytest.mark.parametrize(
    ("siblings", "cores", "physical", "order"),
    [
        ({0: "0", 1: "1"}, (0, 1), [(0,), (1,)], (0, 1)),
        ({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}, (0, 1, 2, 3), [(0, 1), (2, 3)], (0, 2, 1, 3)),
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, (0, 1, 4), [(0, 4), (1,)], (0, 1, 4)),
        ({}, (3, 7), [(3,), (7,)], (3, 7)),
        ({}, (), [], ()),
    ],
    ids=["no threads", "neighbours share a core", "not all may be used", "not told", "no pinning"],
)
def test_threads_of_one_physical_core_are_known_and_come_apart(
    siblings: dict[int, str],
    cores: tuple[int, ...],
    physical: list[tuple[int, ...]],
    order: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    for core, text in siblings.items():
        (tmp_path / f"cpu{core}").write_text(f"{text}\n")
    monkeypatch.setattr(host, "SIBLINGS", str(tmp_path / "cpu{}"))
    assert host.physical_cores(cores) == physical
    assert host.one_of_each_first(physical) == order
