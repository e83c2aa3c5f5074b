"""Stored baselines of MPI tests: the reference kernels play as a job of the same size."""

from dataclasses import dataclass

import pytest

from .projects import Ended, Workshop
from .stored import coarse, compare, library, new_project, save, stored

pytest.importorskip("mpi4py")

TESTS = """
import lib
import pytest

@pytest.mark.rlperf_mpi(nprocs=2, iterations=10)
def test_work(rlperf_mpi):
    rlperf_mpi(lib.work)
    rlperf_mpi.comm.Barrier()

@pytest.mark.rlperf_mpi(nprocs=2, iterations=10)
def test_other(rlperf_mpi):
    rlperf_mpi(lib.other)
"""
SLOWER = "test_work[nprocs=2]"
SAME = "test_other[nprocs=2]"


@dataclass(frozen=True)
class Runs:
    saved: Ended
    compared: Ended
    kept: dict[str, object]


@pytest.fixture(scope="module")
def runs(workshop: Workshop) -> Runs:
    project = new_project(workshop, "mpi-stored", {"tests/test_perf.py": TESTS})
    saved = save(project)
    kept = stored(project)
    project.commit({"lib.py": library(20)})
    return Runs(saved, compare(project), kept)


def test_a_save_stores_the_tests(runs: Runs):
    assert runs.saved.code == 0
    assert set(runs.kept) == {SLOWER, SAME}


def test_the_same_code_passes(runs: Runs):
    assert coarse(runs.compared)[SAME] == "passed"


def test_slower_ranks_regress(runs: Runs):
    assert runs.compared.code == 1
    assert runs.compared.outcomes[SLOWER] == "regressed"
    assert runs.compared.metric(SLOWER)["low"] > 3


def test_the_fingerprint_names_the_mpi(runs: Runs):
    facts = runs.compared.result["fingerprint"]["mpi"]
    assert facts["vendor"]
    assert facts["version"]
    assert "mpiexec" in facts["launcher"]
