"""Coroutine functions are awaited, and their bodies measured."""

import pytest

from .projects import Ended, Workshop

LIBRARY = """
import asyncio

from fakeclock import tick

async def fetch(x=1):
    await asyncio.sleep(0)
    tick({ns})
    return x

def rows():
    tick({ns})
    yield 1
"""
TESTS = """
import asyncio

from lib import fetch, rows

def test_awaited(rlperf):
    assert rlperf(fetch, 7) == 7

def test_with_state(rlperf):
    assert rlperf.measure(fetch, setup=lambda: 8) == 8

def test_benchmark(benchmark):
    assert benchmark(fetch, 9) == 9

def test_pedantic(benchmark):
    assert benchmark.pedantic(fetch, (9,), rounds=20) == 9

def test_of_its_own(rlperf):
    rlperf(lambda: asyncio.run(fetch()))

def test_made_only(rlperf):
    rlperf(lambda: fetch())

def test_rows(benchmark):
    benchmark(rows)
"""
AWAITED = {"test_awaited", "test_with_state", "test_benchmark", "test_pedantic", "test_of_its_own"}
REFUSED = {"test_made_only": "nobody awaited", "test_rows": "a generator that nobody used"}
BASE = {"lib.py": LIBRARY.format(ns=1_000_000), "test_perf.py": TESTS}
HEAD = {"lib.py": LIBRARY.format(ns=1_500_000)}


@pytest.fixture(scope="module")
def slower(workshop: Workshop) -> Ended:
    """A head whose coroutine takes 50 % longer."""
    project = workshop.project("coroutines", BASE, HEAD)
    return project.measure("-p", "pytest_benchmark.plugin")


def test_a_slower_body_is_a_regression(slower: Ended):
    assert {slower.outcomes[name] for name in AWAITED} == {"regressed"}
    assert {round(slower.metric(name)["change"], 2) for name in AWAITED} == {0.5}


@pytest.mark.parametrize("name", REFUSED)
def test_what_was_only_made_is_refused(slower: Ended, name: str):
    assert slower.outcomes[name] == "failed"
    assert REFUSED[name] in slower.section(name)


def test_a_plain_run_awaits_and_refuses_too(workshop: Workshop):
    project = workshop.project("coroutines-plain", BASE)
    ended = project.run("-k", "not benchmark and not pedantic and not rows", json_result=False)
    assert "3 passed" in ended.text
    assert REFUSED["test_made_only"] in ended.section("test_made_only")
