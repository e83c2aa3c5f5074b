"""`--rlperf-strict`: what could not be judged fails too. Its ini twin does the same."""

import pytest

from .projects import BLOCK_BUDGET, CONFTEST, Ended, Project, Workshop

BASE = """
from fakeclock import tick

def same():
    tick(1_000_000)

def learn():
    tick(1_000_000)
    return 10
"""
HEAD = BASE.replace("10", "12") + "\ndef new():\n    tick(1_000_000)\n"
TESTS = """
import lib

def test_same(rlperf):
    rlperf(lib.same)

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
    return project.measure("--rlperf-strict", "--rlperf-budget=3")


def test_the_run_fails(ended: Ended):
    assert ended.code == 1
    assert "3 failed" in ended.text


@pytest.mark.parametrize(
    ("name", "headline", "reason"),
    [
        ("test_same", "inconclusive: tests/test_perf.py::test_same", "raise --rlperf-budget"),
        ("test_new", "no baseline: tests/test_perf.py::test_new", "has no attribute 'new'"),
        ("test_learn", "incomparable: tests/test_perf.py::test_learn", "updates is 10 on the base"),
    ],
)
def test_each_failure_says_why(ended: Ended, name: str, headline: str, reason: str):
    first, why, *rest = ended.section(name).splitlines()
    assert first == headline
    assert reason in why
    assert any(line.startswith("  repeat: pytest --rlperf") for line in rest)


def test_the_ini_twin_fails_too(project: Project):
    ended = project.measure("-o", "rlperf_strict=true", "tests/test_perf.py::test_new")
    assert ended.code == 1
    assert ended.outcomes == {"test_new": "no_baseline"}


def test_without_it_the_same_outcome_is_nothing_compared(project: Project):
    ended = project.measure("tests/test_perf.py::test_new")
    assert ended.code == 6
