"""What Python's allocators are asked for, as tracemalloc and memray count it."""

import tracemalloc

import pytest

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.memory import probe
from pytest_rlperf.model.memory import Pass, Probe
from pytest_rlperf.worker.calls import Calls, Rounds


def test_a_peak_is_exact():
    def peak() -> float:
        return probe.traced_pass(lambda: bytes(10**6), 3)[0].values["traced_peak"]

    peak()  # the first in a process takes 8 bytes more on Python 3.13
    values = [peak() for _ in range(3)]
    assert values[0] == pytest.approx(10**6, rel=0.01)
    assert len(set(values)) == 1


def test_a_result_that_the_next_call_replaces_is_no_growth():
    report, result = probe.traced_pass(lambda: bytes(10**6), 10)
    assert len(result) == 10**6
    assert report.values["growth"] == 0


@pytest.mark.parametrize(
    "calls", [Calls(lambda: bytes(10**6)), Rounds(lambda: bytes(10**6), rounds=3)]
)
def test_a_call_is_not_measured_with_what_the_one_before_it_returned(calls: Calls | Rounds):
    report = probe.probe(Probe(Pass.TRACED, repeats=3), calls)
    assert report.values["traced_peak"] == pytest.approx(10**6, rel=0.01)
    assert len(calls.result) == 10**6


def test_what_every_call_keeps_is_its_growth_and_its_line_is_named():
    kept: list[bytes] = []
    report, _ = probe.traced_pass(lambda: kept.append(bytes(10_000)), 10)
    assert report.values["growth"] == pytest.approx(10_000, rel=0.02)
    site = report.evidence.sites[0]
    assert site.where.startswith(__file__)
    assert site.size_bytes == pytest.approx(10 * 10_000, rel=0.02)
    assert site.blocks >= 10


def test_one_call_has_no_growth():
    assert "growth" not in probe.traced_pass(dict, 1)[0].values


def test_a_function_that_stops_the_tracing_is_told_so():
    with pytest.raises(FixtureError, match="stopped tracemalloc, which counts its memory; measure"):
        probe.traced_pass(tracemalloc.stop, 1)


def test_nothing_is_traced_afterwards():
    probe.traced_pass(dict, 1)
    assert not tracemalloc.is_tracing()


def test_memrays_peak_is_exact_and_its_line_is_named():
    pytest.importorskip("memray")
    report, result = probe.exact_pass(lambda: bytearray(10**6), 3)
    assert len(result) == 10**6
    assert report.values["memray_peak"] == pytest.approx(10**6, rel=0.05)
    site = report.evidence.peak_sites[0]
    assert site.where.startswith(__file__)
    assert site.size_bytes >= 10**6
