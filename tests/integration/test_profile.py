"""`--rlperf-profile`: why a test became slower, or that nothing tells.

Time passes only where the library says so, and profiles are in that time too.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_rlperf.model.quantity import format_percent

from .fake_time import COMMON
from .projects import Ended, Project, Workshop

PROFILED = {"PROFILED_PAIRS": "3"}
LIBRARY = """
import signal

from fakeclock import CLOCK, about

def sample():
    # The sampling timer is a real one: call its handler, where there is one.
    if callable(signal.getsignal(signal.SIGALRM)):
        signal.raise_signal(signal.SIGALRM)

def act():
    CLOCK.now_ns += about(200_000)

def look():
    return len([1, 2])

def learn():
    CLOCK.now_ns += about(500_000)
    sample()
    act()
    look()

def wait():
    CLOCK.now_ns += about(100_000)
"""
SLOWER = LIBRARY.replace("    act()\n", "    act()\n    act()\n").replace("500_000", "600_000")
TESTS = """
import lib

def test_learn(rlperf):
    rlperf(lib.learn)

def test_wait(rlperf):
    rlperf(lib.wait)
"""
BASE = {"lib.py": LIBRARY, "tests/test_perf.py": TESTS}


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return workshop.project("profile", BASE, {"lib.py": SLOWER})


@pytest.fixture(scope="module")
def slower(project: Project) -> Ended:
    """On GitHub, as far as it knows."""
    github = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(project.folder)}
    return project.measure("--rlperf-report=report", env={**PROFILED, **github})


@pytest.fixture(scope="module")
def asked(workshop: Workshop) -> Ended:
    """Nothing changed, and somebody asks all the same."""
    project = workshop.project("profile-asked", BASE)
    return project.measure("--rlperf-profile", "-k", "learn", env=PROFILED)


def test_a_regression_names_the_functions_that_account_for_it(slower: Ended):
    section = slower.section("test_learn")
    change = format_percent(slower.test("test_learn")["profile"]["change"])
    assert f"  profile: {change} under the profiler, in 3 pairs of processes\n" in section
    first, second = [line.strip() for line in section.splitlines() if " % of it in " in line]
    assert first == "67 % of it in lib.py:act, calls 1 → 2 (certain), time per call 1x"
    assert second == (
        "33 % of it in lib.py:learn, calls 1x, time per call 1.2x; its source changed"
    )


def test_a_test_that_did_not_regress_is_not_profiled(slower: Ended):
    assert slower.outcomes["test_wait"] == "unchanged"
    assert "profile" not in slower.test("test_wait")


def test_the_result_has_the_same_as_data(slower: Ended):
    profile = slower.test("test_learn")["profile"]
    assert [each["function"] for each in profile["functions"]] == ["act", "learn"]
    assert profile["functions"][0]["calls"] == {"base": 1.0, "head": 2.0, "certain": True}
    assert profile["functions"][0]["share"] == pytest.approx(2 / 3, abs=0.01)
    assert profile["change"] == pytest.approx(0.3 / 0.7, abs=0.005)
    assert [each["source_changed"] for each in profile["functions"]] == [False, True]


def test_what_profiles_took_is_told_apart(slower: Ended):
    """Workers that only the run waits for are in its part, too."""
    learn, wait = (slower.test(name)["cost"]["profiles"] for name in ("test_learn", "test_wait"))
    assert 0 == wait < learn < slower.result["cost"]["profiles"]


def test_the_annotation_stands_at_the_line_that_made_it_slower(slower: Ended):
    """Not in the function that takes the time, which is the same: in the one that was edited."""
    lines = (slower.folder / "lib.py").read_text().splitlines()
    edited = next(number for number, line in enumerate(lines, start=1) if "600_000" in line)
    (found,) = [line for line in slower.text.splitlines() if line.startswith("::error ")]
    title = "title=Slower%3A tests/test_perf.py%3A%3Atest_learn"
    assert found.startswith(f"::error file=lib.py,line={edited},{title}::REGRESSED")
    assert slower.test("test_learn")["profile"]["functions"][1]["at"] == {
        "file": "lib.py",
        "line": edited,
    }


def test_the_report_tells_it_too(slower: Ended):
    report = (slower.folder / "report" / "report.md").read_text(encoding="utf-8")
    assert "67 % of it in lib.py:act, calls 1 → 2 (certain)" in report


def test_the_flame_graph_lies_beside_the_report_and_is_named(slower: Ended):
    graph = slower.folder / "report" / "tests-test-perf-py-test-learn.svg"
    assert "  flame graph: report/tests-test-perf-py-test-learn.svg\n" in slower.section(
        "test_learn"
    )
    assert "lib.py:learn" in graph.read_text(encoding="utf-8")
    assert ET.parse(graph).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_verdicts_do_not_depend_on_profiling(slower: Ended):
    assert slower.metric("test_learn")["change"] == pytest.approx(0.3 / 0.7, abs=0.005)


def test_unchanged_code_blames_nobody(asked: Ended):
    assert asked.code == 0
    assert asked.test("test_learn")["profile"]["functions"] == []
    nobody = "profile: no function took longer beyond the spread of 3 pairs of profiles; "
    assert nobody in asked.text


def test_without_a_report_the_flame_graph_goes_to_the_cache(asked: Ended, workshop: Workshop):
    graph = Path(asked.test("test_learn")["profile"]["flame_graph"])
    assert graph.is_relative_to(workshop.folder / "cache" / "profiles")
    assert graph.exists()


def test_off_switches_it_off(project: Project):
    ended = project.measure("--rlperf-profile=off", "-k", "learn", env=PROFILED)
    assert ended.outcomes == {"test_learn": "regressed"}
    assert "profile" not in ended.test("test_learn")


def test_lines_of_the_function_that_is_blamed_most(project: Project):
    ended = project.measure("--rlperf-profile=line:learn", "-k", "learn", env=PROFILED)
    lines = ended.test("test_learn")["profile"]["lines"]
    costs = {line["text"].strip(): (line["base_ns"], line["head_ns"]) for line in lines["lines"]}
    assert costs["CLOCK.now_ns += about(500_000)"] == (pytest.approx(5e5, rel=0.01), None)
    assert costs["CLOCK.now_ns += about(600_000)"] == (None, pytest.approx(6e5, rel=0.01))
    assert costs["look()"] == (0, 0)
    assert "  lines of learn, with what they call, a call of the test:" in ended.text


@pytest.fixture(scope="module")
def idle(workshop: Workshop) -> Ended:
    """Its clock sees nobody compute; both tests became slower."""
    clock = COMMON["fakeclock.py"].replace(
        "Elapsed(taken_ns, taken_ns, 0)", "Elapsed(taken_ns, 0, 0)"
    )
    shy = """
def be_shy():
    wait()
    if callable(signal.getsignal(signal.SIGALRM)):
        raise RuntimeError("I am sampled")
"""
    tests = TESTS + "\ndef test_be_shy(rlperf):\n    rlperf(lib.be_shy)\n"
    base = {"fakeclock.py": clock, "lib.py": LIBRARY + shy, "tests/test_perf.py": tests}
    head = {"lib.py": (LIBRARY + shy).replace("100_000", "2e5")}
    project = workshop.project("profile-waits", base, head)
    return project.measure("-k", "wait or shy", "--rlperf-same-code=skip", env=PROFILED)


def test_a_test_that_only_waits_is_said_to(idle: Ended):
    assert "it waits for 100 % of its time, in sleep, I/O or locks" in idle.section("test_wait")
    assert "100 % of it in lib.py:wait, calls 1x, time per call 2x" in idle.section("test_wait")


def test_a_test_that_cannot_be_profiled_says_why_and_what_it_met(idle: Ended):
    assert idle.outcomes["test_be_shy"] == "regressed"
    assert (
        "  changed: lib.py:wait, and nothing else that it runs\n"
        "     def wait():\n"
        "    -    CLOCK.now_ns += about(100_000)\n"
        "    +    CLOCK.now_ns += about(2e5)\n"
        "  profile: only 0 pairs of processes could be profiled: RuntimeError: I am sampled\n"
    ) in idle.section("test_be_shy")


@pytest.fixture(scope="module")
def pedantic(workshop: Workshop) -> Ended:
    tests = """
import lib

def test_pedantic(benchmark):
    benchmark.pedantic(lib.learn, rounds=6, iterations=2)
"""
    files = {**BASE, "tests/test_perf.py": tests}
    project = workshop.project("profile-benchmark", files, {"lib.py": SLOWER})
    return project.measure("--rlperf-profile=line:nobody", autoload=True, env=PROFILED)


def test_a_test_with_the_benchmark_fixture_is_profiled_like_any_other(pedantic: Ended):
    functions = pedantic.test("test_pedantic")["profile"]["functions"]
    assert functions[0]["function"] == "act"
    assert functions[0]["calls"] == {"base": 1.0, "head": 2.0, "certain": True}


def test_a_function_that_never_runs_has_no_lines(pedantic: Ended):
    assert (
        "  lines: nobody did not run as Python code at head; name a function that does with "
        "--rlperf-profile=line:FUNCTION"
    ) in pedantic.text.splitlines()


@pytest.mark.parametrize("given", ["nonsense", "line:", "lines"])
def test_another_word_is_refused(project: Project, given: str):
    ended = project.refuse("--rlperf", "--rlperf-against=base", f"--rlperf-profile={given}")
    assert ended.code == 4
    assert (
        f"ERROR: rlperf: --rlperf-profile={given} is no way to profile; write "
        "--rlperf-profile=functions, line, line:FUNCTION or off."
    ) in ended.text.splitlines()


def test_without_a_revision_to_compare_with_it_is_refused(project: Project):
    ended = project.refuse("--rlperf", "--rlperf-profile")
    assert ended.code == 4
    assert "ERROR: rlperf: --rlperf-profile needs --rlperf-against: it compares" in ended.text


def test_alone_it_does_nothing_and_says_so(project: Project):
    ended = project.refuse("--rlperf-profile=line")
    assert ended.code == 4
    assert "rlperf: --rlperf-profile does nothing alone; add --rlperf." in ended.text
