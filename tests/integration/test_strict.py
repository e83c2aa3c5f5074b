"""`--rlperf-strict`: what could not be judged fails too. Its ini twin does the same."""

import pytest

from .fake_time import BLOCK_BUDGET, CONFTEST
from .projects import Ended, Project, Workshop

BASE = """
from fakeclock import ordinal, tick

def unsteady():
    tick(1_000_000)

def learn():
    tick(1_000_000)
    return 10
"""
UNSTEADY = "tick(1_050_000 * (1.35 if ordinal() % 2 else 1 / 1.35))"
HEAD = (
    BASE.replace("tick(1_000_000)", UNSTEADY, 1).replace("10\n", "12\n")
    + "\ndef new():\n    tick(1_000_000)\n"
)
TESTS = """
import lib

def test_unsteady(rlperf):
    rlperf(lib.unsteady)

def test_new(rlperf):
    rlperf(lib.new)

def test_learn(rlperf):
    rlperf.measure(lib.learn, work=lambda updates: {"updates": updates})
"""


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    head = {"lib.py": HEAD, "tests/test_perf.py": TESTS, "conftest.py": CONFTEST + BLOCK_BUDGET}
    return workshop.project("strict", {"lib.py": BASE}, head)


@pytest.fixture(scope="module")
def ended(project: Project) -> Ended:
    return project.measure("--rlperf-strict", "--rlperf-budget=6")


def test_the_run_fails(ended: Ended):
    assert ended.code == 1
    assert "3 failed" in ended.text


@pytest.mark.parametrize(
    ("name", "headline", "reason"),
    [
        ("test_unsteady", "inconclusive: time ", "--rlperf-budget"),
        ("test_new", "no baseline: tests/test_perf.py::test_new", "has no attribute 'new'"),
        ("test_learn", "incomparable: tests/test_perf.py::test_learn", "updates is 10 on the base"),
    ],
)
def test_each_failure_says_why(ended: Ended, name: str, headline: str, reason: str):
    first, why, *rest = ended.section(name).splitlines()
    assert first.startswith(headline)
    assert reason in why
    assert any(
        line.endswith(f" tests/test_perf.py::{name}") and "repeat: pytest " in line for line in rest
    )


def test_the_ini_twin_fails_too(project: Project):
    ended = project.measure("-o", "rlperf_strict=true", "tests/test_perf.py::test_new")
    assert ended.code == 1
    assert ended.outcomes == {"test_new": "no_baseline"}


def test_without_it_the_same_outcome_is_nothing_compared(project: Project):
    ended = project.measure("tests/test_perf.py::test_new")
    assert ended.code == 6
