"""Suites written for pytest-benchmark's `benchmark` fixture, measured without an edit."""

import json

import pytest

from .fake_time import COMMON
from .projects import Ended, Project, Workshop

PLUGIN = ("-p", "pytest_benchmark.plugin")

LIBRARY = """
from fakeclock import tick

MS = 1_000_000

def steady(*args, **kwargs):
    tick(1 * MS)
    return args, kwargs

def changing():
    tick({changing} * MS)

def drain(numbers):
    tick(1 * MS)
    count = len(numbers)
    numbers.clear()
    return count

class Woven:
    def inner(self):
        tick(1 * MS)
        return "inner"

    def outer(self):
        return self.inner()
"""

TESTS = """
import lib
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

def test_plain_call(benchmark):
    assert isinstance(benchmark, BenchmarkFixture)
    assert benchmark(lib.steady, 1, two=2) == ((1,), {"two": 2})

def test_decorator(benchmark):
    @benchmark
    def result():
        return lib.steady(3)
    assert result == ((3,), {})

@pytest.mark.benchmark(group="slow ones", min_rounds=2, disable_gc=True, warmup=True)
def test_slower(benchmark):
    benchmark(lib.changing)

@pytest.mark.rlperf(category="ours")
@pytest.mark.benchmark(group="theirs")
def test_category_of_its_own(benchmark):
    benchmark(lib.steady)

def test_stats(benchmark):
    benchmark.group = "set in the test"
    benchmark.extra_info["size"] = 3
    benchmark(lib.steady)
    assert benchmark.enabled
    assert benchmark.stats.stats.mean == pytest.approx(0.001, rel=0.01)
    assert benchmark.stats["mean"] == benchmark.stats.get("mean") == benchmark.stats.stats.mean
    assert benchmark.stats["min"] <= benchmark.stats["median"] <= benchmark.stats["max"]
    assert benchmark.stats.stats.rounds == len(benchmark.stats.stats.data)
    assert benchmark.stats.as_dict()["extra_info"] == {"size": 3}

@pytest.mark.parametrize("iterations", [1, 4])
@pytest.mark.parametrize("warmup_rounds", [0, 3])
@pytest.mark.parametrize("rounds", [1, 6, 7])
def test_pedantic(benchmark, rounds, iterations, warmup_rounds):
    calls = []
    def work(*args, **kwargs):
        calls.append(args)
        return lib.steady(*args, **kwargs)
    result = benchmark.pedantic(
        work, args=(1,), kwargs={"two": 2},
        rounds=rounds, iterations=iterations, warmup_rounds=warmup_rounds,
    )
    assert result == ((1,), {"two": 2})
    for_the_result = 1 if iterations > 1 else 0
    assert len(calls) == (warmup_rounds + rounds) * iterations + for_the_result
    assert len(benchmark.stats.stats.data) == rounds
    assert benchmark.stats["iterations"] == iterations

def test_pedantic_of_one_call(benchmark):
    assert benchmark.pedantic(lib.steady) == ((), {})
    assert benchmark.stats.stats.rounds == 1

def test_pedantic_setup_returns_arguments(benchmark):
    made = []
    def setup():
        made.append([1, 2, 3])
        return (made[-1],), {}
    assert benchmark.pedantic(lib.drain, setup=setup, rounds=8, warmup_rounds=1) == 3
    assert made == [[]] * 9

def test_pedantic_setup_and_teardown_surround_each_call(benchmark):
    log = []
    def work():
        lib.steady()
        log.append("call")
    benchmark.pedantic(
        work, setup=lambda: log.append("setup"), teardown=lambda: log.append("teardown"), rounds=4
    )
    assert log == ["setup", "call", "teardown"] * 4

def test_weave(benchmark_weave):
    pytest.importorskip("aspectlib")
    benchmark_weave(lib.Woven.inner)
    assert lib.Woven().outer() == "inner"

def test_patch(benchmark):
    pytest.importorskip("aspectlib")
    benchmark.patch(lib.Woven.inner)
    assert lib.Woven().outer() == "inner"

def test_twice(benchmark):
    benchmark(lib.steady)
    benchmark(lib.steady)

def test_both_fixtures(benchmark, rlperf):
    benchmark(lib.steady)
    rlperf(lib.steady)

def test_pedantic_of_no_rounds(benchmark):
    benchmark.pedantic(lib.steady, rounds=0)

def test_pedantic_with_arguments_twice(benchmark):
    benchmark.pedantic(lib.steady, args=(1,), setup=lambda: ((2,), {}))

def test_wrong_marker(benchmark):
    benchmark(lib.steady)
test_wrong_marker.pytestmark = [pytest.mark.benchmark(colour="red")]

def test_unused(benchmark):
    lib.steady()

def test_raises_later(benchmark):
    numbers = [1]
    benchmark(numbers.pop)

def test_of_our_own(rlperf):
    rlperf(lib.steady)

def test_no_benchmark():
    raise AssertionError("a plain test must not run")
"""

FAILING = {
    "test_twice": "FixtureAlreadyUsed: Fixture can only be used once. Previously it was used in "
    "benchmark(...) mode.",
    "test_both_fixtures": "this test has measured a call already, with rlperf or benchmark; "
    "split it in two.",
    "test_pedantic_of_no_rounds": "benchmark.pedantic(rounds=0) is no number of calls to make; "
    "give it a whole number, 1 or more.",
    "test_pedantic_with_arguments_twice": "benchmark.pedantic got arguments for its target, and "
    "setup returned others; give them in one place.",
    "test_wrong_marker": "benchmark mark can't have 'colour' keyword argument.",
    "test_unused": "this test returned without calling rlperf, benchmark",
    "test_raises_later": "give every call fresh state: benchmark.pedantic(func, setup=...).",
}

CONTRADICTING = "--benchmark-only --benchmark-disable --benchmark-skip"
OPTIONS = (
    "--benchmark-only --benchmark-autosave --benchmark-json=bench.json "
    "--benchmark-compare --benchmark-compare-fail=mean:5% --benchmark-histogram=histogram "
    "--benchmark-cprofile=tottime --benchmark-storage=file://stored --benchmark-verbose "
    "--dist=loadfile -n0"  # under which pytest-benchmark warns, and disables itself
)


def files(changing: str, tests: str = TESTS, addopts: str = "") -> dict[str, str]:
    return {
        "lib.py": LIBRARY.replace("{changing}", changing),
        "tests/test_perf.py": tests,
        "pytest.ini": f"[pytest]\nrlperf_same_code = measure\naddopts = {addopts}\n",
    }


@pytest.fixture(scope="module")
def suite(workshop: Workshop) -> Ended:
    project = workshop.project("benchmark", files("1"), files("1.3"))
    return project.measure(*PLUGIN)


def test_every_test_that_uses_the_fixture_is_measured(suite: Ended):
    assert suite.code == 1
    unchanged = {name for name, outcome in suite.outcomes.items() if outcome == "unchanged"}
    skipped = {name for name, outcome in suite.outcomes.items() if outcome == "skipped"}
    assert suite.outcomes.keys() - unchanged - skipped == {"test_slower", *FAILING}
    assert skipped <= {"test_weave", "test_patch"}  # where aspectlib is missing
    assert "test_of_our_own" in unchanged
    assert "test_no_benchmark" not in suite.outcomes


def test_a_slower_function_regresses(suite: Ended):
    assert suite.outcomes["test_slower"] == "regressed"
    assert suite.metric("test_slower")["change"] == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("name", "category"),
    [("test_slower", "slow ones"), ("test_category_of_its_own", "ours"), ("test_stats", None)],
)
def test_the_group_is_the_category_where_the_marker_gives_none(
    suite: Ended, name: str, category: str | None
):
    assert suite.test(name)["category"] == category


@pytest.mark.parametrize("name", FAILING)
def test_a_wrong_use_fails_with_its_sentence(suite: Ended, name: str):
    assert suite.outcomes[name] == "failed"
    assert FAILING[name] in suite.section(name)


def test_an_error_in_the_test_shows_the_tests_own_lines(suite: Ended):
    assert "benchmark_fixture.py" not in suite.section("test_raises_later")
    assert "rounds.py" not in suite.section("test_pedantic_with_arguments_twice")


def test_pytest_benchmarks_own_report_is_not_shown(suite: Ended):
    assert "Legend:" not in suite.text
    assert "benchmark: 1 tests" not in suite.text


@pytest.mark.parametrize("name", ["test_pedantic[7-0-4]", "test_pedantic[7-3-1]"])
def test_a_block_of_pedantic_has_the_declared_calls(suite: Ended, name: str):
    plan = suite.test(name)["plan"]
    rounds, warmup, iterations = (int(n) for n in name[14:-1].split("-"))
    assert plan["calls"] * plan["pairs"] == rounds * iterations
    assert plan["warmup"] == warmup


def stored(project: Project) -> set[str]:
    """Return the names that pytest-benchmark left in the project."""
    known = {*COMMON, *files(""), "tests", ".git", "__pycache__"}
    return {path.name for path in project.folder.iterdir()} - known


ONE = "import lib\n\ndef test_a(benchmark):\n    benchmark(lib.steady)\n"
OURS = "\ndef test_b(rlperf):\n    rlperf(lib.steady)\n"


@pytest.mark.parametrize("options", [OPTIONS, CONTRADICTING])
def test_options_of_pytest_benchmark_neither_stop_nor_steer_the_gate(
    workshop: Workshop, options: str
):
    name = f"benchmark-options{len(options)}"
    project = workshop.project(name, files("1", ONE + OURS, options))
    plugins = (*PLUGIN, "-p", "xdist") if "--dist" in options else PLUGIN
    ended = project.measure(*plugins)
    assert ended.outcomes == {"test_a": "unchanged", "test_b": "unchanged"}
    assert ended.code == 0, ended.text
    assert "Benchmark" not in ended.text.replace("PytestBenchmark", "")
    assert stored(project) == set()


def test_a_partner_that_cannot_play_leaves_the_tests_checks_in_order(workshop: Workshop):
    tests = """
import lib

def test_new(benchmark):
    benchmark(lib.new)
    assert benchmark.stats.stats.mean > 0

def test_new_pedantic(benchmark):
    calls = []
    benchmark.pedantic(lambda: calls.append(lib.new()), rounds=5, warmup_rounds=2)
    assert len(calls) == 7
    assert len(benchmark.stats.stats.data) == 5
"""
    head = files("1", tests)
    head["lib.py"] += "\ndef new():\n    tick(1 * MS)\n"
    project = workshop.project("benchmark-new", files("1", tests), head)
    ended = project.measure(*PLUGIN)
    assert ended.outcomes == {"test_new": "no_baseline", "test_new_pedantic": "no_baseline"}


def test_a_fixture_of_that_name_from_elsewhere_is_none_of_ours(workshop: Workshop):
    tests = """
import pytest

@pytest.fixture
def benchmark():
    return "a rock on a hill"

def test_a(benchmark):
    assert benchmark
"""
    project = workshop.project("benchmark-other", files("1", tests))
    ended = project.run("--rlperf")
    assert "1 deselected" in ended.text


PLAIN = """
import pytest

def test_a(benchmark):
    calls = []
    benchmark(calls.append, 1)
    assert len(calls) > 1
    assert type(benchmark).__call__.__module__ == "pytest_benchmark.fixture"
    assert type(benchmark)._raw.__module__ == "pytest_benchmark.fixture"

@pytest.mark.benchmark(group="numbers")
def test_b(benchmark):
    assert benchmark.pedantic(int, args=("3",), rounds=2) == 3
"""


def test_without_the_option_pytest_benchmark_measures_and_saves_as_ever(workshop: Workshop):
    common = {"conftest.py": "", "fakeclock.py": ""}
    project = workshop.project("benchmark-plain", files("1", PLAIN), common=common)
    options = ("--benchmark-json=bench.json", "--benchmark-autosave", "--benchmark-max-time=0.001")
    ended = project.run(*PLUGIN, *options, json_result=False)
    assert ended.code == 0, ended.text
    assert "benchmark 'numbers': 1 tests" in ended.text
    saved = json.loads((project.folder / "bench.json").read_text())
    assert [bench["name"] for bench in saved["benchmarks"]] == ["test_a", "test_b"]
    assert list((project.folder / ".benchmarks").rglob("0001_*.json"))
