"""`@pytest.mark.rlperf`: bad keywords are refused, good ones shape the plan."""

import pytest

from .fake_time import CONFTEST
from .projects import Ended, Workshop


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        (
            "treshold=0.1",
            "@pytest.mark.rlperf has no keyword 'treshold'; did you mean 'threshold'?",
        ),
        (
            "colour='red'",
            "@pytest.mark.rlperf has no keyword 'colour'; it takes category, steps, threshold, "
            "kpi, threads, waits, warmup, iterations, memory, imports, first_call, sizes, "
            "metadata.",
        ),
        ("steps=0", "rlperf(steps=0) is not a whole number above 0; correct it."),
        (
            "'env'",
            "@pytest.mark.rlperf takes keywords only, and got 'env'; write category='env', for "
            "example.",
        ),
    ],
)
def test_a_marker_that_cannot_be_obeyed_is_refused(
    workshop: Workshop, request: pytest.FixtureRequest, marker: str, sentence: str
):
    text = f"import pytest\n@pytest.mark.rlperf({marker})\ndef test_a(rlperf): rlperf(int)\n"
    name = f"marker-{request.node.callspec.indices['marker']}"
    ended = workshop.project(name, {"test_a.py": text}).refuse("--rlperf")
    assert ended.code == 4
    assert f"ERROR: rlperf: test_a.py::test_a: {sentence}" in ended.text.splitlines()
    assert "Traceback" not in ended.text


TESTS = """
import multiprocessing
import time

import pytest
from fakeclock import tick

def work():
    tick(100_000)

def long_work():
    tick(20_000_000)

def test_default(rlperf):
    rlperf(work)

def test_long(rlperf):
    rlperf(long_work)

@pytest.mark.rlperf(threads=2)
def test_threads(rlperf):
    import os
    assert os.environ["OMP_NUM_THREADS"] == "2"
    rlperf(work)

@pytest.mark.rlperf(waits=True)
def test_waits(rlperf):
    import os
    assert os.environ["OMP_NUM_THREADS"] == "1"
    rlperf(long_work)

@pytest.mark.rlperf(iterations=3, warmup=5)
def test_iterations(rlperf):
    rlperf(work)

def test_costly_setup(rlperf):
    rlperf.measure(lambda: tick(100), setup=lambda: time.sleep(0.003))

def compute(orders, answers):
    while orders.get():
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass
        answers.put(True)

def test_child(rlperf):
    context = multiprocessing.get_context("fork")
    orders, answers = context.SimpleQueue(), context.SimpleQueue()
    child = context.Process(target=compute, args=(orders, answers), daemon=True)
    child.start()

    def ask():
        orders.put(True)
        assert answers.get()
        tick(2_000_000)

    rlperf(ask)
    orders.put(False)
    child.join()
"""

QUICK_AND_PATIENT = """
from pytest_rlperf.worker import scout

scout.BUSY_SHARE = 0.01  # on a busy machine the child gets a small share of a core only
if CONTROLLER:
    from pytest_rlperf.gate import partners

    partners.SOLO_BLOCKS = 1
"""


@pytest.fixture(scope="module")
def planned(workshop: Workshop) -> Ended:
    files = {"tests/test_perf.py": TESTS, "conftest.py": CONFTEST + QUICK_AND_PATIENT}
    ended = workshop.project("plans", files).run("--rlperf")
    assert ended.code == 0, ended.text
    return ended


def plan_of(ended: Ended, name: str) -> dict[str, object]:
    plan: dict[str, object] = ended.test(name)["plan"]
    return plan


def test_a_short_call_is_sliced(planned: Ended):
    plan = plan_of(planned, "test_default")
    assert plan["mode"] == "sliced"
    assert plan["cores"] == 1
    assert plan["warmup"] == 1
    assert plan["wall"] is False


def test_a_long_call_runs_concurrently(planned: Ended):
    assert plan_of(planned, "test_long")["mode"] == "concurrent"


def test_threads_get_a_core_each_and_reach_the_libraries(planned: Ended):
    plan = plan_of(planned, "test_threads")
    assert plan["cores"] == min(2, planned.result["fingerprint"]["cores"])
    assert plan["mode"] == "sliced"
    threads = planned.result["fingerprint"]["threads"]
    assert threads["tests/test_perf.py::test_threads"] == 2


def test_a_test_that_waits_takes_turns_on_wall_time(planned: Ended):
    plan = plan_of(planned, "test_waits")
    assert plan["mode"] == "sliced"
    assert plan["wall"] is True


def test_iterations_and_warmup_are_obeyed(planned: Ended):
    plan = plan_of(planned, "test_iterations")
    assert plan["warmup"] == 5
    assert (plan["calls"], plan["pairs"]) == (3, 1)


def test_a_costly_setup_means_few_calls(planned: Ended):
    plan = planned.test("test_costly_setup")["plan"]
    assert plan["calls"] * plan["pairs"] * 0.003 < 0.5  # seconds a side, in one block


def test_a_test_with_a_busy_child_is_a_live_job(planned: Ended):
    plan = plan_of(planned, "test_child")
    assert plan["mode"] == "live"
    assert plan["cores"] == min(2, planned.result["fingerprint"]["cores"])
