"""Suites written for pytest-codspeed, measured without an edit: its fixture and its marker."""

from pathlib import Path

import pytest

from .projects import Ended, Workshop

pytest.importorskip("pytest_codspeed", reason="pytest-codspeed is not there: make test-extras")

LIBRARY = """
from fakeclock import tick

MS = 1_000_000

def steady(*args, **kwargs):
    tick(1 * MS)
    return args, kwargs

def changing():
    tick({changing} * MS)
"""
TESTS = """
import sys

import lib
import pytest

def test_plain_call(benchmark):
    assert "pytest_benchmark" not in sys.modules
    assert benchmark(lib.steady, 1, two=2) == ((1,), {"two": 2})

def test_pedantic(benchmark):
    calls = []
    def setup():
        return (len(calls),), {}
    def work(number):
        lib.steady()
        calls.append(number)
        return number
    assert benchmark.pedantic(work, setup=setup, rounds=5, warmup_rounds=1) == 5
    assert calls == [0, 1, 2, 3, 4, 5]

def test_slower(codspeed_benchmark):
    codspeed_benchmark(lib.changing)

def test_twice(benchmark):
    benchmark(lib.steady)
    benchmark(lib.steady)

@pytest.fixture
def factor():
    return 2

@pytest.mark.benchmark
def test_whole(factor):
    for _ in range(factor):
        lib.changing()

class TestMethods:
    @pytest.mark.codspeed_benchmark
    @pytest.mark.parametrize("number", [1, 2])
    def test_whole_method(self, number):
        lib.steady(number)

@pytest.mark.benchmark
def test_whole_that_fails():
    assert lib.steady() == "never"

def test_of_something_else():
    assert lib.steady
"""


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    base, head = (
        {
            "lib.py": LIBRARY.format(changing=ms),
            "tests/test_perf.py": TESTS,
            "pytest.ini": "[pytest]\nrlperf_same_code = measure\naddopts = --codspeed\n",
        }
        for ms in ("1", "1.3")
    )
    return workshop.project("codspeed", base, head).measure("-p", "pytest_codspeed.plugin")


def test_its_fixture_is_measured(ended: Ended):
    assert ended.outcomes["test_plain_call"] == "unchanged"
    assert ended.outcomes["test_pedantic"] == "unchanged"
    assert ended.outcomes["test_slower"] == "regressed"


def test_its_rules_hold_and_it_leaves_nothing_behind(ended: Ended):
    assert "can only be used once per test" in ended.section("test_twice")
    assert not (Path(ended.folder) / ".codspeed").exists()


def test_a_marker_alone_measures_the_whole_test_with_its_fixtures(ended: Ended):
    assert ended.outcomes["test_whole"] == "regressed"
    assert ended.metric("test_whole")["change"] == pytest.approx(0.3, abs=0.05)
    assert ended.outcomes["TestMethods::test_whole_method[1]"] == "unchanged"


def test_a_whole_test_that_fails_is_a_failure(ended: Ended):
    assert ended.outcomes["test_whole_that_fails"] == "failed"
    assert "never" in ended.section("test_whole_that_fails")


def test_what_is_neither_marked_nor_uses_the_fixture_is_not_measured(ended: Ended):
    assert "test_of_something_else" not in ended.outcomes
