"""A limit that pytest-timeout sets for one run of a test does not end a block, which makes many."""

import pytest

from .projects import Workshop

pytest.importorskip("pytest_timeout", reason="pytest-timeout is not there: make test-extras")

TESTS = """
import time

from fakeclock import tick

def slow():
    time.sleep(0.05)
    tick(1_000_000)

def test_slow(rlperf):
    rlperf(slow)
"""


def test_a_block_may_take_longer_than_one_run(workshop: Workshop):
    ini = "[pytest]\nrlperf_same_code = measure\ntimeout = 0.4\n"
    project = workshop.project("timeout", {"pytest.ini": ini, "tests/test_perf.py": TESTS})
    ended = project.measure("-p", "pytest_timeout")
    assert ended.outcomes == {"test_slow": "unchanged"}
