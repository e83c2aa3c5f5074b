"""What the kernel says of calls: real allocations, whose sizes are known."""

import multiprocessing
import sys

import pytest

from pytest_rlperf.memory import probe
from pytest_rlperf.memory.probe import UNSEEN

MIB = 2**20
CLOSE = MIB // 2

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="high-water marks of Linux")


def filled(size: int) -> bytearray:
    return bytearray(b"x") * size


def test_a_call_that_allocates_nothing_takes_nothing():
    report, _ = probe.resident_pass(lambda: None, 3)
    assert report.values["peak_rss"] < CLOSE
    assert report.values["uss"] < CLOSE
    assert report.values["shared_memory"] == 0


def test_the_last_result_is_handed_on_and_counts_as_held():
    report, result = probe.resident_pass(lambda: filled(5 * MIB), 3)
    assert len(result) == 5 * MIB
    assert report.values["peak_rss"] == pytest.approx(5 * MIB, abs=CLOSE)
    assert report.values["uss"] == pytest.approx(5 * MIB, abs=CLOSE)


def spike() -> None:
    filled(50 * MIB)


def test_memory_that_is_freed_at_once_is_not_missed():
    report, _ = probe.resident_pass(spike, 1)
    assert report.values["peak_rss"] == pytest.approx(50 * MIB, abs=CLOSE)
    assert report.values["uss"] < CLOSE


def test_a_child_process_is_included_and_named():
    def call() -> None:
        process = multiprocessing.get_context("fork").Process(target=filled, args=(30 * MIB,))
        process.start()
        process.join()

    report, _ = probe.resident_pass(call, 2)
    own, *children = report.evidence.processes
    assert own.name == probe.OWN
    assert own.peak_bytes < 2 * MIB
    assert [child for child in children if child.name != UNSEEN][1:] == []  # never two at once
    peak = sum(child.peak_bytes for child in children)  # part of it where nobody looked just then
    assert peak > 30 * MIB
    assert report.values["peak_rss"] == own.peak_bytes + peak


def test_what_every_call_leaves_behind_is_its_growth():
    kept: list[bytearray] = []
    report, _ = probe.resident_pass(lambda: kept.append(filled(200_000)), 12)
    assert report.values["growth_rss"] == pytest.approx(200_000, rel=0.1)


def test_a_segment_of_shared_memory_is_listed_while_it_is_mapped():
    from multiprocessing.shared_memory import SharedMemory

    made: list[SharedMemory] = []

    def call() -> None:
        made.append(SharedMemory(create=True, size=3 * MIB))

    try:
        report, _ = probe.resident_pass(call, 1)
        assert report.values["shared_memory"] == pytest.approx(3 * MIB, abs=4096)
        assert report.evidence.left == (made[0].name.lstrip("/"),)
    finally:
        for segment in made:
            segment.close()
            segment.unlink()
