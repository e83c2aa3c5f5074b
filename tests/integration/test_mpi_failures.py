"""Whatever happens to a rank: one failure that names it, within the time, and no process left."""

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rlperf.leaving import left_by_ranks
from pytest_rlperf.mpi.launcher import JOB, Library, find_library

from .projects import Ended, Running, Workshop

pytest.importorskip("mpi4py")

TIMEOUT_S = 8
"""Of the jobs that never end; a busy machine needs some of it to bring them up. All others end by
themselves, long before theirs."""
TESTS = """
import os
import signal
import sys
import time

import psutil
import pytest

from pytest_rlperf.leaving import OF_MPICH, shared_by_ranks

pytestmark = pytest.mark.rlperf_mpi(nprocs=2, timeout=60)

def test_raises(rlperf_mpi):
    if rlperf_mpi.rank == 1:
        raise RuntimeError("a bug of rank 1")
    rlperf_mpi.comm.Barrier()

def test_exits(rlperf_mpi):
    if rlperf_mpi.rank == 1:
        os._exit(0)
    rlperf_mpi.comm.Barrier()

def test_segfaults(rlperf_mpi):
    def crash_here():
        os.kill(os.getpid(), signal.SIGSEGV)
    if rlperf_mpi.rank == 1:
        crash_here()
    rlperf_mpi.comm.Barrier()

def test_is_killed(rlperf_mpi):
    if rlperf_mpi.rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    rlperf_mpi.comm.Barrier()

def test_loses_what_watches_it(rlperf_mpi):
    if rlperf_mpi.rank == 1:
        os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)

def test_loses_its_launcher(rlperf_mpi):
    if rlperf_mpi.rank == 1:
        psutil.Process().parent().parent().kill()
    time.sleep(60)

def test_never_finalises(rlperf_mpi):
    if rlperf_mpi.rank == 1:
        from mpi4py import MPI
        MPI.Finalize = lambda: os._exit(0)

def test_prints_a_megabyte(rlperf_mpi):
    print("x" * 2**20)
    os.write(2, b"y" * 2**20)
    print(f"the last words of rank {rlperf_mpi.rank}")
    rlperf_mpi.rank_assert(False, "to see the output")

def test_leaves_a_process(rlperf_mpi):
    import subprocess
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)

def test_skips_on_one_rank(rlperf_mpi):
    if rlperf_mpi.rank == 1:
        pytest.skip("only here")

def test_afterwards(rlperf_mpi):
    assert rlperf_mpi.comm.allreduce(1) == 2

def test_shared_memory_has_no_name(rlperf_mpi):
    assert shared_by_ranks([os.getpid()], (OF_MPICH,)) == set()
"""

DEADLOCKS = """
import pytest

@pytest.mark.rlperf_mpi(nprocs=2, timeout=8)
def test_deadlocks(rlperf_mpi):
    def wait_for_nobody():
        rlperf_mpi.comm.recv(source=0)
    if rlperf_mpi.rank == 1:
        wait_for_nobody()
"""
RUNS_ON = """
import time

import pytest

@pytest.mark.rlperf_mpi(nprocs=2, timeout=8)
def test_runs_on(rlperf_mpi):
    def run_on():
        while True:
            time.sleep(0.01)
    if rlperf_mpi.rank == 1:
        run_on()
"""
LIBRARY = find_library()
OPEN_MPI = isinstance(LIBRARY, Library) and LIBRARY.vendor == "Open MPI"
OF_HYDRA = pytest.mark.skipif(
    OPEN_MPI, reason="Open MPI has no process of its launcher between mpiexec and the ranks"
)
NAMED_WRONGLY = pytest.mark.xfail(
    OPEN_MPI, reason="Open MPI ends the other rank by SIGTERM, which is named first", strict=False
)
FILES = {"test_a.py": TESTS, "test_b.py": DEADLOCKS, "test_c.py": RUNS_ON}


@pytest.fixture(scope="module")
def left_before() -> set[Path]:
    """Files that others have left: under Open MPI each process that was a rank all by itself."""
    return {*left_by_ranks()}


@pytest.fixture(scope="module")
def runs(workshop: Workshop, left_before: set[Path]) -> list[tuple[Running, Ended]]:
    """A run a file, all at once: those that hang do little else than to wait for their deadline."""
    tests = {f"tests/{name}": text for name, text in FILES.items()}
    project = workshop.project("mpi-failures", tests)
    running = [project.start("--durations=0", "-vv", name) for name in tests]
    return [(each, each.wait()) for each in running]


@pytest.fixture(scope="module")
def ended(runs: list[tuple[Running, Ended]]) -> Ended:
    """All runs as one."""
    every = [ended for _, ended in runs]
    return replace(every[0], text="\n".join(ended.text for ended in every))


def table_of(ended: Ended, name: str) -> list[tuple[str, ...]]:
    """Rows of rank, last phase, outcome and signal."""
    shown = ended.section(f"{name}[nprocs=2]")
    rows = re.findall(r"^(\d)\s{2,}(\S+)\s{2,}(\S.*?)\s{2,}(\S+)$", shown, re.MULTILINE)
    return [tuple(row) for row in rows]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("test_raises", [("0", "call", "stopped", "-"), ("1", "call", "failed", "-")]),
        ("test_exits", [("0", "call", "stopped", "-"), ("1", "call", "exited with 0", "-")]),
        ("test_segfaults", [("0", "call", "stopped", "-"), ("1", "call", "killed", "SIGSEGV")]),
        ("test_is_killed", [("0", "call", "killed", "SIGKILL"), ("1", "call", "stopped", "-")]),
        pytest.param(
            "test_loses_what_watches_it",
            [("0", "call", "stopped", "-"), ("1", "call", "killed", "-")],
            marks=NAMED_WRONGLY,
        ),
        pytest.param(
            "test_loses_its_launcher",
            [("0", "call", "lost its launcher", "-"), ("1", "call", "lost its launcher", "-")],
            marks=OF_HYDRA,
        ),
        ("test_deadlocks", [("0", "finalize", "stuck", "-"), ("1", "call", "stuck", "-")]),
        ("test_runs_on", [("0", "finalize", "stuck", "-"), ("1", "call", "stuck", "-")]),
    ],
)
def test_the_table_shows_every_rank(ended: Ended, name: str, rows: list[tuple[str, ...]]):
    assert table_of(ended, name) == rows


def test_a_rank_that_never_finalises_is_named(ended: Ended):
    rows = table_of(ended, "test_never_finalises")
    assert rows[1][1:3] == ("finalize", "exited with 0")


@OF_HYDRA
def test_a_launcher_that_is_gone_is_named(ended: Ended):
    section = ended.section("test_loses_its_launcher[nprocs=2]")
    assert "the launcher's process above ranks 0, 1 was gone" in section


@NAMED_WRONGLY
def test_the_rank_that_died_is_named_by_its_process(ended: Ended):
    section = ended.section("test_loses_what_watches_it[nprocs=2]")
    assert "rank 1 was killed during call" in section
    assert "PID" not in section


def test_a_rank_that_skips_alone_is_a_failure(ended: Ended):
    assert "rank 1 skipped the test, and the others did not" in ended.section(
        "test_skips_on_one_rank[nprocs=2]"
    )


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("test_raises", "RuntimeError: a bug of rank 1"),
        ("test_segfaults", "in crash_here"),
        ("test_deadlocks", "in wait_for_nobody"),
        ("test_runs_on", "in run_on"),
    ],
)
def test_the_right_rank_shows_where_it_was(ended: Ended, name: str, evidence: str):
    shown = ended.section(f"{name}[nprocs=2]")
    assert evidence in shown.split("\nrank 1:\n")[1]


def test_each_tells_how_to_repeat_it(ended: Ended):
    shown = ended.section("test_raises[nprocs=2]")
    assert "repeat: pytest " in shown
    assert "'tests/test_a.py::test_raises[nprocs=2]'" in shown


def test_of_a_megabyte_the_last_words_are_shown(ended: Ended):
    shown = ended.section("test_prints_a_megabyte[nprocs=2]")
    for rank in range(2):
        assert f"the last words of rank {rank}" in shown
    assert len(shown) < 100_000


def test_each_is_one_failure_and_what_follows_runs_as_ever(ended: Ended):
    assert ended.code == 1
    assert "9 failed, 3 passed" in ended.text
    assert ended.text.count("= 1 failed in ") == 2
    assert "test_afterwards[nprocs=2] PASSED" in ended.text


def test_each_ends_in_time(ended: Ended):
    seconds = re.findall(r"^([\d.]+)s call .*::(\w+)", ended.text, re.MULTILINE)
    assert len(seconds) == 14
    assert [name for s, name in seconds if float(s) > TIMEOUT_S + 10] == []


def test_no_process_is_left(runs: list[tuple[Running, Ended]]):
    assert [running.wait_until_gone(5) for running, _ in runs] == [[]] * len(FILES)


def test_no_shared_memory_is_left(ended: Ended, left_before: set[Path]):
    assert left_in_the_end(left_before) == set()


def left_in_the_end(before: set[Path]) -> set[Path]:
    """Return what is still there when jobs that end at this moment have taken theirs away."""
    until = time.monotonic() + 10
    while (left := {*left_by_ranks()} - before) and time.monotonic() < until:
        time.sleep(0.2)
    return left


def test_a_job_ends_with_a_session_that_is_killed(workshop: Workshop, left_before: set[Path]):
    project = workshop.project(
        "mpi-killed",
        {
            "test_a.py": (
                "import os, pathlib, time\n"
                "def test_a(rlperf_mpi):\n"
                "    pathlib.Path(os.environ['INTEGRATION_FOLDER'], 'up').touch()\n"
                "    time.sleep(600)\n"
            )
        },
    )
    running = project.start()
    running.wait_for_file("up")
    assert any(JOB in process.environ() for process in running.processes())
    running.popen.kill()
    running.popen.wait()
    assert running.wait_until_gone(10) == []
    assert left_in_the_end(left_before) == set()
