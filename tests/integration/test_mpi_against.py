"""MPI tests against a revision: two jobs share the cores, rank by rank."""

import pytest

from .projects import Ended, Workshop

pytest.importorskip("mpi4py")

LIBRARY = """
from fakeclock import tick

def work(comm):
    tick({ms} * 1_000_000)
    return comm.allreduce(1)

def long(comm):
    tick({ms} * 10_000_000)
    return comm.allreduce(1)

def uneven(comm):
    tick((1 + comm.Get_rank()) * 1_000_000)
    comm.Barrier()
"""
TESTS = """
import os

import lib
import pytest

@pytest.mark.rlperf_mpi(nprocs=[1, 2], steps=10, category="mpi")
def test_work(rlperf_mpi):
    assert rlperf_mpi(lib.work, rlperf_mpi.comm) == rlperf_mpi.size

def test_long(rlperf_mpi):
    rlperf_mpi(lib.long, rlperf_mpi.comm)

def test_uneven(rlperf_mpi):
    rlperf_mpi(lib.uneven, rlperf_mpi.comm)
    cores = rlperf_mpi.comm.allgather(tuple(os.sched_getaffinity(0)))
    everyone = len(os.sched_getaffinity(os.getppid()))
    pinned = all(len(core) == 1 for core in cores)
    if pinned and everyone > 1:
        assert cores[0] != cores[1]

def test_raises_on_one_rank(rlperf_mpi):
    def bad():
        if rlperf_mpi.rank == 1:
            raise RuntimeError("a bug of rank 1")
        rlperf_mpi.comm.Barrier()
    rlperf_mpi(bad)

def test_crashes(rlperf_mpi):
    def crash():
        os.kill(os.getpid(), 11)
    rlperf_mpi(crash if rlperf_mpi.rank == 0 else rlperf_mpi.comm.Barrier)

def test_on_its_own(rlperf):
    rlperf(lib.tick, 1_000_000)
"""


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    base = {"lib.py": LIBRARY.format(ms=1), "tests/test_perf.py": TESTS}
    head = {"lib.py": LIBRARY.format(ms=2)}
    return workshop.project("mpi-against", base, head).measure(env={"PROFILED_PAIRS": "3"})


def test_each_size_is_a_test_with_its_own_verdict(ended: Ended):
    assert ended.code == 1
    assert ended.outcomes == {
        "test_work[nprocs=1]": "regressed",
        "test_work[nprocs=2]": "regressed",
        "test_long[nprocs=2]": "regressed",
        "test_uneven[nprocs=2]": "unchanged",
        "test_raises_on_one_rank[nprocs=2]": "failed",
        "test_crashes[nprocs=2]": "failed",
        "test_on_its_own": "unchanged",
    }


def test_the_change_is_that_of_the_work(ended: Ended):
    metric = ended.metric("test_work[nprocs=2]")
    assert metric["change"] == pytest.approx(1.0, rel=0.01)
    assert metric["value"] == pytest.approx(2e6, rel=0.01)
    assert ended.metric("test_work[nprocs=2]", "throughput")["value"] == pytest.approx(
        5e3, rel=0.01
    )


def test_time_is_the_slowest_ranks(ended: Ended):
    assert ended.metric("test_uneven[nprocs=2]")["value"] == pytest.approx(2e6, rel=0.01)


def test_what_is_known_of_the_ranks_is_kept(ended: Ended):
    ranks = ended.test("test_uneven[nprocs=2]")["ranks"]
    assert ranks["nprocs"] == 2
    assert ranks["time_min_ns"] == pytest.approx(1e6, rel=0.01)
    assert ranks["time_max_ns"] == pytest.approx(2e6, rel=0.01)
    assert all(0 < share < 1 for share in ranks["communication"])
    assert all(size > 1e6 for size in ranks["peak_bytes"])
    assert ended.test("test_on_its_own")["ranks"] is None


def test_jobs_take_turns_as_a_whole(ended: Ended):
    for size in (1, 2):
        assert ended.test(f"test_work[nprocs={size}]")["plan"]["mode"] == "live"


def test_jobs_of_long_calls_run_at_once(ended: Ended):
    assert ended.test("test_long[nprocs=2]")["plan"]["mode"] == "concurrent"
    assert ended.metric("test_long[nprocs=2]")["change"] == pytest.approx(1.0, rel=0.02)


def test_sizes_of_a_test_make_a_table(ended: Ended):
    (table,) = ended.result["scaling"]
    assert table["test"].endswith("::test_work[nprocs=*]")
    one, two = table["rows"]
    assert (one["nprocs"], two["nprocs"]) == (1, 2)
    assert two["speedup"] == pytest.approx(1.0, rel=0.01)  # of a clock that the work moves
    assert two["efficiency"] == pytest.approx(0.5, rel=0.01)
    assert two["outcome"] == "unchanged"
    assert "strong scaling of tests/test_perf.py::test_work[nprocs=*]" in ended.text


def test_each_side_imports_its_own_library(ended: Ended):
    imported = ended.test("test_work[nprocs=2]")["imported"]
    assert imported["head"]["lib"] != imported["base"]["lib"]


def test_a_rank_that_raises_is_one_failure_with_its_traceback(ended: Ended):
    shown = ended.section("test_raises_on_one_rank[nprocs=2]")
    assert "rank 1 failed: RuntimeError: a bug of rank 1 (2 ranks)" in shown
    assert "0     call        stopped  -" in shown
    assert "1     teardown    failed   -" in shown


def test_a_rank_that_crashes_is_one_failure_with_its_signal(ended: Ended):
    shown = ended.section("test_crashes[nprocs=2]")
    assert "rank 0 ended by SIGSEGV during call (2 ranks)" in shown
    assert "in crash" in shown
    assert "repeat: pytest " in shown


def test_a_job_that_regressed_has_its_first_rank_profiled(ended: Ended):
    assert ended.test("test_work[nprocs=2]")["profile"]["pairs"] == 3
    assert "  profile: " in ended.section("test_work[nprocs=2]")
