"""What Python's allocators are asked for."""

import tracemalloc

import pytest

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.measure.memory import traced


def test_a_peak_is_exact():
    values = [traced.look(lambda: bytes(10**6), 3)[0]["values"]["traced_peak"] for _ in range(3)]
    assert values[0] == pytest.approx(10**6, rel=0.01)
    assert len(set(values)) == 1


def test_a_result_that_the_next_call_replaces_is_no_growth():
    facts, result = traced.look(lambda: bytes(10**6), 10)
    assert len(result) == 10**6
    assert facts["values"]["growth"] == 0


def test_what_every_call_keeps_is_its_growth_and_its_line_is_named():
    kept: list[bytes] = []
    facts, _ = traced.look(lambda: kept.append(bytes(10_000)), 10)
    assert facts["values"]["growth"] == pytest.approx(10_000, rel=0.02)
    where, size, blocks = facts["sites"][0]
    assert where.startswith(__file__)
    assert size == pytest.approx(10 * 10_000, rel=0.02)
    assert blocks >= 10


def test_one_call_has_no_growth():
    assert "growth" not in traced.look(dict, 1)[0]["values"]


def test_a_function_that_stops_the_tracing_is_told_so():
    with pytest.raises(FixtureError, match="stopped tracemalloc, which counts its memory; measure"):
        traced.look(tracemalloc.stop, 1)


def test_nothing_is_traced_afterwards():
    traced.look(dict, 1)
    assert not tracemalloc.is_tracing()
