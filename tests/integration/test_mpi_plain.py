"""MPI tests without `--rlperf`: once each, at one size, in real ranks."""

import json
import re
import sys
from pathlib import Path

import pytest

from .projects import Ended, Workshop
from .test_plain_run import LISTING

TESTS = """
import os

import pytest

pytestmark = pytest.mark.rlperf_mpi(timeout=20)

@pytest.mark.rlperf_mpi(nprocs=[1, 3, 2])
def test_sum(rlperf_mpi):
    total = rlperf_mpi(rlperf_mpi.comm.allreduce, rlperf_mpi.rank + 1)
    assert (rlperf_mpi.size, total) == (2, 3)

def test_measure(rlperf_mpi):
    assert rlperf_mpi.measure(lambda state: state + 1, setup=lambda: 5, steps=2) == 6

def test_all_skip(rlperf_mpi):
    pytest.skip("not today")

@pytest.mark.xfail(reason="a known bug", strict=True)
def test_known_bug(rlperf_mpi):
    rlperf_mpi.rank_assert(False)

@pytest.mark.parametrize("word", ["a", "b"])
def test_parameters(rlperf_mpi, word, tmp_path):
    words = rlperf_mpi.comm.allgather(word)
    assert words == [word, word]

def test_rank_assert(rlperf_mpi):
    rlperf_mpi.rank_assert(True)
    rlperf_mpi.rank_assert(rlperf_mpi.rank == 0, f"rank {rlperf_mpi.rank} is not the root")

def test_rank_raises(rlperf_mpi):
    with rlperf_mpi.rank_raises(ValueError, match="bad") as caught:
        raise ValueError("bad input")
    assert "bad" in str(caught.value)
    with rlperf_mpi.rank_raises(ValueError):
        if rlperf_mpi.rank:
            raise ValueError("only here")

def test_rank_raises_another(rlperf_mpi):
    with rlperf_mpi.rank_raises(ValueError):
        raise KeyError(1) if rlperf_mpi.rank else ValueError(2)

def test_fixture_of_its_own(rlperf_mpi, request):
    assert request.config.getoption("verbose") == -1  # no option of the outer session

def test_plain():
    assert "RLPERF_MPI_JOB" not in os.environ
"""

pytest.importorskip("mpi4py")


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    files = {"tests/test_a.py": TESTS, "conftest.py": LISTING}
    return workshop.project("mpi-plain", files).run("-v", "-rs", json_result=False)


def test_each_runs_once_at_the_least_size_that_communicates(ended: Ended):
    assert "test_sum[nprocs=2] PASSED" in ended.text
    assert ended.text.count("::test_sum[") == 1
    assert "test_measure[nprocs=2] PASSED" in ended.text


def test_other_parameters_stay(ended: Ended):
    passed = re.findall(r"::test_parameters\[(.*)\] PASSED", ended.text)
    assert sorted(passed) == ["nprocs=2-a", "nprocs=2-b"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("test_plain PASSED", id="plain tests beside them"),
        pytest.param("test_all_skip[nprocs=2] SKIPPED (not today)", id="skipped on all ranks"),
        pytest.param("test_known_bug[nprocs=2] XFAIL (a known bug)", id="an expected failure"),
    ],
)
def test_what_does_not_fail_is_shown_as_ever_with_its_reason(ended: Ended, line: str):
    assert line in ended.text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("test_rank_assert", "rank 1 of 2: rank 1 is not the root"),
        ("test_rank_raises", "rank 0 of 2 did not raise"),
    ],
)
def test_an_assertion_of_one_rank_fails_on_all(ended: Ended, name: str, said: str):
    shown = ended.section(f"{name}[nprocs=2]")
    assert f"ranks 0, 1 failed: AssertionError: {said}" in shown


def test_a_rank_that_raises_something_else_shows_it(ended: Ended):
    shown = ended.section("test_rank_raises_another[nprocs=2]")
    assert "AssertionError: rank 1 of 2 raised KeyError(1)" in shown
    assert "E           KeyError: 1" in shown


def test_the_session_loads_no_mpi(ended: Ended):
    line = next(line for line in ended.text.splitlines() if "MODULES" in line)
    modules = json.loads(line.partition("MODULES ")[2])
    assert "pytest_rlperf.mpi.job" in modules
    assert not [name for name in modules if name.partition(".")[0] in ("mpi4py", "numpy")]


NOT_INSTALLED = """
import importlib.util

find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *how: None if name == "mpi4py" else find_spec(name, *how)
"""
NO_LAUNCHER = """
import shutil

from pytest_rlperf.mpi import launcher

launcher.find_launcher.__kwdefaults__["which"] = lambda name: None
"""


@pytest.mark.parametrize(
    ("conftest", "reason"),
    [
        (NOT_INSTALLED, "no MPI: mpi4py is not installed; pip install mpi4py mpich"),
        (NO_LAUNCHER, "; pip install mpi4py mpich"),
    ],
)
def test_without_mpi_they_are_skipped_with_what_cures_that(
    workshop: Workshop, request: pytest.FixtureRequest, conftest: str, reason: str
):
    project = workshop.plain(f"no-mpi-{request.node.callspec.indices['conftest']}")
    project.write({"test_a.py": "def test_a(rlperf_mpi): ...\n", "conftest.py": conftest})
    ended = project.run("-rs", json_result=False)
    assert ended.code == 0
    assert "SKIPPED [1]" in ended.text
    assert reason in ended.text


@pytest.mark.parametrize(
    ("marker", "ini", "sentence"),
    [
        (
            "nproc=2",
            "",
            "rlperf: test_a.py::test_a: @pytest.mark.rlperf_mpi has no keyword 'nproc'",
        ),
        (
            "nprocs=0",
            "",
            "rlperf: test_a.py::test_a: rlperf_mpi(nprocs=0) is not a number of ranks",
        ),
        ("", "mpiexec -n 2", "rlperf_mpi_launcher is 'mpiexec -n 2', which does not say where the"),
        ("", "no-such-program", "rlperf_mpi_launcher names 'no-such-program', which is not there"),
    ],
)
def test_what_cannot_be_obeyed_is_one_sentence(
    workshop: Workshop, request: pytest.FixtureRequest, marker: str, ini: str, sentence: str
):
    index = request.node.callspec.indices
    project = workshop.plain(f"mpi-misuse-{index['marker']}-{index['ini']}")
    test = f"import pytest\n@pytest.mark.rlperf_mpi({marker})\ndef test_a(rlperf_mpi): ...\n"
    launcher = f"rlperf_mpi_launcher = {ini}\n" if ini else ""
    project.write({"test_a.py": test, "pytest.ini": f"[pytest]\n{launcher}"})
    ended = project.run(json_result=False)
    assert ended.code in (1, 2)
    assert sentence in ended.text
    assert "Traceback" not in ended.text


def test_a_launcher_of_ones_own_is_used(workshop: Workshop):
    project = workshop.plain("mpi-template")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    project.write(
        {
            "test_a.py": "def test_a(rlperf_mpi):\n    assert rlperf_mpi.size == 2\n",
            "pytest.ini": f"[pytest]\nrlperf_mpi_launcher = env MINE=1 {mpiexec} -n {{nprocs}}\n",
        }
    )
    assert "1 passed" in project.run(json_result=False).text


def test_a_launcher_of_another_mpi_is_named(workshop: Workshop):
    """Its ranks are jobs of one each."""
    project = workshop.plain("mpi-foreign")
    launcher = "sh -c 'unset PMI_FD; \"$@\"' x env PMI_RANK=0 {command} {nprocs}"
    project.write(
        {
            "test_a.py": "def test_a(rlperf_mpi): ...\n",
            "pytest.ini": f"[pytest]\nrlperf_mpi_launcher = {launcher}\n",
        }
    )
    ended = project.run(json_result=False)
    assert "this is one of 1 ranks instead of 2: sh does not belong to" in ended.text
    assert "name the launcher that does in rlperf_mpi_launcher" in ended.text
