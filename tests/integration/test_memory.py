"""`rlperf_memory` and `memory=True`: memory against a revision and against a stored baseline."""

import json

import pytest

from .projects import Ended, Project, Workshop

LIBRARY = """
from fakeclock import tick

GROWN = {grown}
MIB = 2**20
KEPT = []

def hold():
    tick(1_000_000)
    if GROWN:
        KEPT.append(bytes(40_000))
    return bytearray(b"x") * (9 * MIB if GROWN else 5 * MIB)
"""
TESTS = """
import lib
import pytest

def test_hold(rlperf_memory):
    assert len(rlperf_memory(lib.hold)) >= 5 * lib.MIB

@pytest.mark.rlperf(
    iterations=3, memory={"resident": "90%,1GiB", "traced": "90%,1GiB", "growth": "1MiB"}
)
def test_timed(rlperf):
    rlperf(lib.hold)

def test_twice(rlperf_memory):
    rlperf_memory(int)
    rlperf_memory(int)
"""
BASE = {"lib.py": LIBRARY.format(grown=False), "tests/test_perf.py": TESTS}
HEAD = {"lib.py": LIBRARY.format(grown=True)}


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    return workshop.project("memory", BASE, HEAD).measure("--rlperf-budget=10000")


def test_growth_beyond_both_limits_fails_a_test(ended: Ended):
    assert ended.code == 1
    assert ended.metric("test_hold", "peak_rss")["outcome"] == "regressed"
    assert ended.metric("test_hold", "growth")["outcome"] == "regressed"


def test_a_failing_test_shows_what_grew_and_where(ended: Ended):
    shown = ended.section("test_hold")
    assert "REGRESSED (medium): growth [" in shown
    assert "more than the allowed 1 KiB a repeat, beyond doubt" in shown
    assert "lib.py:11" in shown
    assert "repeat: pytest " in shown


def test_a_test_of_memory_alone_is_not_timed(ended: Ended):
    names = [metric["name"] for metric in ended.test("test_hold")["metrics"]]
    assert "time" not in names
    assert {"peak_rss", "uss", "shared_memory", "traced_peak", "gc_pause"} <= set(names)


def test_a_row_has_sizes_of_every_process_in_bytes(ended: Ended):
    metric = ended.metric("test_hold", "traced_peak")
    assert (metric["unit"], metric["direction"]) == ("bytes", "lower")
    assert metric["value"] > 9 * 2**20  # and what it leaks
    assert metric["base_value"] == pytest.approx(5 * 2**20, rel=0.01)
    assert metric["change"] == pytest.approx(metric["value"] / metric["base_value"] - 1)
    assert (metric["threshold"], metric["threshold_abs"]) == (0.05, 65536)
    assert len(metric["head_blocks"]) == len(metric["base_blocks"]) == metric["blocks"]


def test_a_marker_sets_limits_of_its_own_and_time_is_judged_as_ever(ended: Ended):
    assert ended.metric("test_timed", "peak_rss")["outcome"] == "unchanged"
    assert ended.metric("test_timed")["outcome"] == "unchanged"


def test_a_second_call_is_refused(ended: Ended):
    shown = ended.section("test_twice")
    assert "rlperf_memory measures one call a test, and this is the second; split" in shown


@pytest.fixture(scope="module")
def saved(workshop: Workshop) -> Project:
    tests = TESTS.partition("@pytest")[0].replace("import pytest\n", "")
    project = workshop.project("memory-stored", {**BASE, "tests/test_perf.py": tests})
    ended = project.run("--rlperf", "--rlperf-save", "--rlperf-budget=10000")
    assert ended.code == 0, ended.text
    return project


def test_a_stored_baseline_holds_bytes(saved: Project):
    (path,) = (saved.folder / "baselines").rglob("*.json")
    test = json.loads(path.read_text())["tests"]["tests/test_perf.py::test_hold"]
    assert test["sessions"] == []
    assert test["memory"]["values"]["traced_peak"][0] == pytest.approx(5 * 2**20, rel=0.01)


def test_growth_is_found_against_a_stored_baseline(saved: Project):
    saved.write(HEAD)
    ended = saved.run("--rlperf", "--rlperf-budget=10000")
    assert ended.code == 1
    assert ended.metric("test_hold", "peak_rss")["outcome"] == "regressed"
    assert ended.metric("test_hold", "growth")["outcome"] == "regressed"


def test_a_plain_run_makes_one_call(workshop: Workshop):
    ended = workshop.project("memory-plain", BASE).run("-k", "not twice", json_result=False)
    assert ended.code == 0
    assert "2 passed" in ended.text


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--rlperf-memory-threshold=20%", "write a share and an amount, such as 20%,1MiB"),
        ("--rlperf-growth=fast", "--rlperf-growth is 'fast', which is no amount of memory"),
    ],
)
def test_a_limit_that_cannot_be_obeyed_is_refused(
    workshop: Workshop, option: str, sentence: str, request: pytest.FixtureRequest
):
    project = workshop.project(f"memory-refused-{request.node.callspec.indices['option']}", BASE)
    ended = project.refuse("--rlperf", option)
    assert ended.code == 4
    assert sentence in ended.text
