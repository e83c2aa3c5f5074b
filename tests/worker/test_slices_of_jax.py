"""Slices of functions that JAX computes in threads of its own, with the real clock."""

from typing import Any

import pytest

from pytest_rlperf.worker.calls import Calls
from pytest_rlperf.worker.clock import SystemClock

jax = pytest.importorskip("jax", reason="jax is not installed: pip install 'pytest-rlperf[jax]'")


def slow_product() -> tuple[Any, Any]:
    """A function that takes a good while longer than to ask for it, and its argument."""
    x = jax.numpy.full((400, 400), 1e-3)
    chain = jax.jit(lambda x: jax.lax.fori_loop(0, 60, lambda _, y: y @ x, x))
    chain(x).block_until_ready()
    return chain, x


def test_a_call_returns_before_it_is_done_and_a_slice_does_not():
    chain, x = slow_product()
    assert not chain(x).is_ready()
    calls = Calls(lambda x: {"product": chain(x), "number": 1}, (x,))
    clock = SystemClock()
    for timed in (False, True):
        calls.timed(2, clock) if timed else calls.once()
        assert calls.result["product"].is_ready()
    assert calls.settle.device is not None
    assert calls.settle.device.name == "jax cpu:0"


def test_the_cpu_time_of_its_threads_is_own_time():
    chain, x = slow_product()
    clock = SystemClock()
    clock.hosted = clock.cpu_bound = True
    calls = Calls(chain, (x,))
    calls.once()
    elapsed = calls.timed(3, clock)
    assert elapsed.own_ns == min(elapsed.cpu_ns, elapsed.wall_ns)
