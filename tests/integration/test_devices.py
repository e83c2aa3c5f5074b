"""Results that are computed after the call: the gate judges the work, and names who did it."""

import pytest

from .projects import Ended, Workshop

# Stands in for JAX: orders cost next to nothing, and time passes for whoever waits for them.
JAX = """
from types import SimpleNamespace

from fakeclock import tick

MS = 1_000_000
queue = []

class Array:
    def __init__(self, ns):
        queue.append(ns)

    def devices(self):
        return [SimpleNamespace(platform="cpu", id=0, device_kind="cpu")]

def block_until_ready(result):
    for ns in queue:
        tick(ns)
    queue.clear()
    return result

tree_util = SimpleNamespace(tree_leaves=lambda tree: [tree])
"""

LIBRARY = """
import jax
from fakeclock import tick

def update():
    tick(0.01 * jax.MS)
    return jax.Array({work} * jax.MS)
"""

TESTS = """
import lib

def test_update(rlperf):
    rlperf(lib.update)
"""


@pytest.fixture(scope="module")
def measured(workshop: Workshop) -> Ended:
    head, base = LIBRARY.format(work=1.2), LIBRARY.format(work=1.0)
    files = {"jax.py": JAX, "lib.py": base, "tests/test_perf.py": TESTS}
    project = workshop.project("devices", files, {"lib.py": head})
    return project.measure()


def test_slower_work_behind_equal_orders_is_a_regression(measured: Ended):
    assert measured.outcomes == {"test_update": "regressed"}
    assert measured.metric("test_update")["change"] == pytest.approx(1.21 / 1.01 - 1, abs=0.01)


def test_the_result_and_the_failure_name_the_device(measured: Ended):
    assert measured.test("test_update")["device"]["name"] == "jax cpu:0"
    assert "computed by jax cpu:0 (100 % busy)" in measured.section("test_update")
