"""Without `--rlperf`: the performance tests run once, also in parallel, which measuring excludes;
and the plugin is hardly there.
"""

import json

import pytest

from .projects import Ended, Workshop

LISTING = """
import json
import sys

def pytest_unconfigure():
    print("MODULES", json.dumps(sorted(sys.modules)))
"""

TESTS = """
import pytest

calls = []

def work(number, *, factor=1):
    calls.append(number)
    return number * factor

def test_returns_the_result(rlperf):
    assert rlperf(work, 3, factor=7) == 21
    assert calls == [3]

def test_measure_hands_over_fresh_state(rlperf):
    assert rlperf.measure(work, setup=lambda: 5, steps=10, work=lambda r: {"n": r}) == 5
    assert calls == [3, 5]

def test_measure_without_state(rlperf):
    assert rlperf.measure(lambda: 9, setup=lambda: None) == 9

@pytest.mark.rlperf(category="env", steps=10)
def test_second_call(rlperf):
    rlperf(work, 1)
    with pytest.raises(Exception, match="measures one call a test, and this is the second"):
        rlperf(work, 1)

def test_plain():
    print("a plain test ran")
"""

PARALLEL = "def test_a(rlperf):\n    assert rlperf(int) == 0\n"


@pytest.fixture(scope="module")
def plain(workshop: Workshop) -> Ended:
    files = {"tests/test_a.py": TESTS, "conftest.py": LISTING}
    return workshop.project("plain", files).run("-v", "-s", json_result=False)


@pytest.mark.parametrize(
    "option", ["against=main", "threshold=5%", "budget=60", "category=env", "strict", "json=r.json"]
)
def test_an_option_of_the_gate_alone_is_refused(workshop: Workshop, option: str):
    name = option.partition("=")[0]
    project = workshop.plain(f"lone-{name}")
    project.write({"test_a.py": "def test_a(rlperf): rlperf(int)\n"})
    ended = project.refuse(f"--rlperf-{option}")
    assert ended.code == 4
    assert (
        f"ERROR: rlperf: --rlperf-{name} does nothing alone; add --rlperf."
        in ended.text.splitlines()
    )


def test_performance_tests_run_once_beside_the_others(plain: Ended):
    assert plain.code == 0
    assert "5 passed" in plain.text
    assert "a plain test ran" in plain.text


def test_nothing_of_the_gate_is_shown(plain: Ended):
    assert "rlperf:" not in plain.text


@pytest.mark.parametrize(
    "name",
    [
        "numpy",
        "psutil",
        "pytest_rlperf.baselines",
        "pytest_rlperf.gate",
        "pytest_rlperf.history.records",
        "pytest_rlperf.machine",
        "pytest_rlperf.memory",
        "pytest_rlperf.mpi",
        "pytest_rlperf.model.profile",
        "pytest_rlperf.model.result",
        "pytest_rlperf.profile",
        "pytest_rlperf.prove",
        "pytest_rlperf.report",
        "pytest_rlperf.scale",
        "pytest_rlperf.stats",
        "pytest_rlperf.trees",
        "pytest_rlperf.worker",
        "pytest_rlperf.workers",
    ],
)
def test_no_measuring_module_is_imported(plain: Ended, name: str):
    line = next(line for line in plain.text.splitlines() if "MODULES" in line)
    modules = json.loads(line.partition("MODULES ")[2])
    assert "pytest_rlperf.plugin" in modules
    assert [m for m in modules if m == name or m.startswith(f"{name}.")] == []


# -- pytest-xdist -------------------------------------------------------------------------------


def test_workers_of_xdist_are_refused(workshop: Workshop):
    pytest.importorskip("xdist")
    project = workshop.project("xdist", {"test_a.py": PARALLEL})
    ended = project.run("--rlperf", "-n", "2", autoload=True)
    assert ended.code == 4
    assert (
        "ERROR: rlperf: measuring and pytest-xdist's -n exclude each other, since parallel tests "
        "disturb each other's time; run with -n 0, or without -n." in ended.text.splitlines()
    )


def test_a_plain_run_may_use_them(workshop: Workshop):
    pytest.importorskip("xdist")
    project = workshop.project("xdist-plain", {"test_a.py": PARALLEL})
    ended = project.run("-n", "1", autoload=True, json_result=False)
    assert ended.code == 0
    assert "1 passed" in ended.text
