"""`imports=` and `first_call=`: metrics of fresh processes, against a revision and stored.

Imports take real time, so theirs differ by a factor that no noise can bridge.
"""

import pytest

from pytest_rlperf.model.quantity import format_percent, format_time

from .projects import Ended, Workshop
from .stored import COARSE, coarse, compare, save, stored

LIBRARY = """
from fakeclock import tick

MS = 1_000_000
_cache = []

def work():
    if not _cache:
        _cache.append(1)
        tick({compiling} * MS)
    tick(1 * MS)
"""

HEAVY = """
import time

begun = time.process_time()
while time.process_time() < begun + {seconds}:
    pass
"""

TESTS = """
import lib
import pytest

@pytest.mark.rlperf(first_call=True, iterations=10)
def test_work(rlperf):
    rlperf(lib.work)

@pytest.mark.rlperf(imports="heavy", iterations=10)
def test_import(rlperf):
    rlperf(lib.work)

@pytest.mark.rlperf(imports="missing_library", iterations=10)
def test_missing(rlperf):
    rlperf(lib.work)
"""


def files(compiling: int, seconds: float) -> dict[str, str]:
    return {
        "lib.py": LIBRARY.format(compiling=compiling),
        "heavy.py": HEAVY.format(seconds=seconds),
        "tests/test_perf.py": TESTS,
    }


@pytest.fixture(scope="module")
def started(workshop: Workshop) -> Ended:
    project = workshop.project("starts", files(20, 0.01), files(40, 0.2))
    return project.measure()


def test_the_first_call_is_judged_apart_from_the_others(started: Ended):
    assert started.outcomes["test_work"] == "unchanged"
    metric = started.metric("test_work", "first_call")
    assert metric["outcome"] == "regressed"
    assert metric["base_value"] == pytest.approx(21e6, rel=0.01)
    assert metric["value"] == pytest.approx(41e6, rel=0.01)
    assert metric["change"] == pytest.approx(41 / 21 - 1, abs=0.01)


def test_an_import_is_judged_in_processes_of_its_own(started: Ended):
    assert started.outcomes["test_import"] == "unchanged"
    metric = started.metric("test_import", "import_time")
    assert metric["outcome"] == "regressed"
    assert metric["value"] > 0.15e9
    assert metric["change"] > 1.0
    assert metric["blocks"] == len(metric["head_blocks"]) == len(metric["base_blocks"])


def test_the_failure_tells_what_became_slower(started: Ended):
    shown, metric = started.section("test_work"), started.metric("test_work", "first_call")
    assert f"REGRESSED (high): first_call {format_percent(metric['change'])}" in shown
    before, now = (format_time(metric[name]) for name in ("base_value", "value"))
    assert f"first_call: {before} → {now}" in shown


def test_a_module_that_is_not_there_fails_the_test_in_one_line(started: Ended):
    assert started.outcomes["test_missing"] == "failed"
    message = "imports=missing_library cannot be timed in a fresh process"
    lines = started.text.splitlines()
    (failed,) = [x for x in lines if x.startswith("FAILED") and "missing" in x]
    if pytest.version_tuple >= (9,):  # before, the summary names the test alone
        assert message in failed
    assert [x for x in lines if message in x and x is not failed]


def test_a_stored_start_is_compared_with(workshop: Workshop):
    project = workshop.project("stored-starts", files(20, 0.01))
    assert save(project, "-k", "work").code == 0
    assert stored(project)["test_work"]["starts"].keys() == {"first_call"}
    project.write({"lib.py": LIBRARY.format(compiling=2000)})
    ended = compare(project, "-k", "work")
    assert coarse(ended) == {"test_work": "passed"}
    metric = ended.metric("test_work", "first_call")
    assert metric["outcome"] == "regressed"
    assert metric["threshold"] == float(COARSE.partition("=")[2][:-1]) / 100
