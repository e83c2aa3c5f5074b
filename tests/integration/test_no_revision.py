"""`--rlperf` without a revision: figures, and a loud word that nothing was compared.

The same run tries what workers must cope with: fixtures of all scopes, odd ids, classes, options
of the project's own, and an ini file with options for other plugins.
"""

from pathlib import Path

import pytest

from .fake_time import COMMON, CONFTEST, FEW_BLOCKS
from .projects import Ended, Workshop

LOUD = (
    "rlperf: NOTHING WAS COMPARED: there is no stored baseline 'main' that fits; save one with "
    "pytest --rlperf --rlperf-save, or compare with a revision: "
    "pytest --rlperf --rlperf-against=REF."
)

LOUD_WITHOUT_TESTS = (
    "rlperf: NOTHING WAS COMPARED: no selected test uses the rlperf or benchmark fixture."
)

OWN_CONFTEST = (
    CONFTEST
    + FEW_BLOCKS
    + """
import pathlib

import pytest

def pytest_addoption(parser):
    parser.addoption("--device", default="cpu")
    parser.addoption("--cov", action="append")

def log(word):
    with open(os.path.join(os.environ["INTEGRATION_FOLDER"], "log"), "a") as file:
        file.write(f"{os.getpid()} {word}\\n")

@pytest.fixture(scope="session")
def whole_session(pytestconfig):
    log("session setup")
    yield pytestconfig.getoption("--device")
    log("session teardown")

@pytest.fixture(scope="module")
def whole_module():
    log("module setup")
    yield
    log("module teardown")

@pytest.fixture
def each():
    yield
    log("function teardown")
"""
)

TESTS = """
import pytest
from fakeclock import tick
from helpers import LENGTH

def work():
    tick(LENGTH)
    return "done"

def test_fixtures(rlperf, whole_session, whole_module, each):
    assert whole_session == "cuda:1"
    assert rlperf(work) == "done"

class TestClass:
    @pytest.fixture(scope="class", autouse=True)
    def for_class(self, request):
        request.cls.made = True
        yield
        from conftest import log
        log("class teardown")

    def test_method(self, rlperf):
        assert self.made
        rlperf(work)

@pytest.mark.parametrize("name", ["a b", "x[0]", "left::right", "äö", "a/b"])
def test_odd(rlperf, name):
    assert name
    rlperf(work)

@pytest.mark.rlperf(category="replay", steps=50)
def test_fresh_state(rlperf):
    states = []

    def use(state):
        assert state == []
        state.append(1)
        tick(LENGTH)

    rlperf.measure(use, setup=lambda: [], steps=100)
"""

INI = """
[pytest]
addopts = -n0 -x --cov=lib --maxfail=1 -ra --strict-markers --durations=3
markers = slow: takes long
filterwarnings = error::pytest.PytestAssertRewriteWarning
"""


@pytest.fixture(scope="module")
def alone(workshop: Workshop) -> Ended:
    files = {
        "conftest.py": OWN_CONFTEST,
        "tests/test_perf.py": TESTS,
        "tests/helpers.py": "LENGTH = 1_000_000\n",
        "pytest.ini": INI,
    }
    project = workshop.project("alone", files, common=COMMON)
    return project.run("--rlperf", "--device=cuda:1", autoload=True)


def test_it_passes_and_says_loudly_that_nothing_was_compared(alone: Ended):
    assert alone.code == 0
    assert LOUD in alone.text


def test_the_tests_are_measured(alone: Ended):
    assert set(alone.outcomes.values()) == {"no_baseline"}
    metric = alone.metric("test_fixtures")
    assert metric["value"] == pytest.approx(1e6, rel=0.002)
    assert metric["base_value"] is None
    assert metric["blocks"] >= 3
    assert metric["reason"] == "measured, with nothing to compare with"
    assert alone.result["mode"] == "stored"
    assert alone.result["against"] is None


def test_the_table_shows_the_time_of_a_call(alone: Ended):
    assert "time a call" in alone.text
    assert "→" not in alone.text


def test_parametrized_ids_reach_the_workers(alone: Ended):
    ids = {name for name in alone.outcomes if name.startswith("test_odd")}
    assert ids == {
        "test_odd[a b]",
        "test_odd[x[0]]",
        "test_odd[left::right]",
        "test_odd[\\xe4\\xf6]",
        "test_odd[a/b]",
    }


def test_methods_of_classes_run(alone: Ended):
    assert alone.metric("TestClass::test_method")["blocks"] >= 3


def test_steps_given_to_measure_beat_those_of_the_marker(alone: Ended):
    rate = alone.metric("test_fresh_state", "throughput")
    assert rate["value"] == pytest.approx(100 / 1e-3, rel=0.002)


@pytest.mark.parametrize("scope", ["session", "module", "class", "function"])
def test_fixtures_of_every_scope_are_torn_down(alone: Ended, scope: str):
    (log,) = alone.folder.parent.glob("run-*/log")
    words = [line.partition(" ") for line in log.read_text().splitlines()]
    torn_down = {pid for pid, _, word in words if word == f"{scope} teardown"}
    workers = {pid for pid, _, word in words if word == "session setup"}
    assert len(workers) >= 4
    # The workers started ahead of a block that was not needed are ended without a word.
    assert len(torn_down) >= len(workers) - 1


def test_options_of_other_plugins_in_the_ini_file_break_nothing(alone: Ended):
    assert "error" not in alone.text.lower()


def test_strict_fails_when_nothing_could_be_compared(workshop: Workshop):
    project = workshop.project("strict-alone", {"test_a.py": "def test_plain(): pass\n"})
    ended = project.run("--rlperf", "--rlperf-strict")
    assert ended.code == 6
    assert LOUD_WITHOUT_TESTS in ended.text.splitlines()


def test_no_performance_test_at_all_is_pytests_own_code(workshop: Workshop):
    project = workshop.project("no-tests", {"test_a.py": "def test_plain(): pass\n"})
    ended = project.run("--rlperf")
    assert ended.code == 5
    assert "NOTHING WAS COMPARED" not in ended.text
    assert not Path(project.result).exists()
