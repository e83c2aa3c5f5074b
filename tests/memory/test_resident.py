"""What the kernel says of calls: real allocations, whose sizes are known."""

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from pytest_rlperf.memory import probe
from pytest_rlperf.memory.probe import UNSEEN
from pytest_rlperf.wire import MemoryReport

MIB = 2**20
CLOSE = MIB // 2

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="high-water marks of Linux")


def filled(size: int) -> bytearray:
    return bytearray(b"x") * size


def resident_pass(call: Callable[[], object], repeats: int) -> tuple[MemoryReport, Any]:
    """Look at calls in a fresh process: one that has run other tests has freed memory to take."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(probe.resident_pass, call, repeats).result()


def nothing() -> None:
    pass


def test_a_call_that_allocates_nothing_takes_nothing():
    report, _ = resident_pass(nothing, 3)
    assert report.values["peak_rss"] < CLOSE
    assert report.values["uss"] < CLOSE
    assert report.values["shared_memory"] == 0


def five() -> bytearray:
    return filled(5 * MIB)


def test_the_last_result_is_handed_on_and_counts_as_held():
    report, result = resident_pass(five, 3)
    assert len(result) == 5 * MIB
    assert report.values["peak_rss"] == pytest.approx(5 * MIB, abs=CLOSE)
    assert report.values["uss"] == pytest.approx(5 * MIB, abs=CLOSE)


def spike() -> None:
    filled(50 * MIB)


def test_memory_that_is_freed_at_once_is_not_missed():
    report, _ = resident_pass(spike, 1)
    assert report.values["peak_rss"] == pytest.approx(50 * MIB, abs=CLOSE)
    assert report.values["uss"] < CLOSE


def start_a_child() -> None:
    process = multiprocessing.get_context("fork").Process(target=filled, args=(30 * MIB,))
    process.start()
    process.join()


def test_a_child_process_is_included_and_named():
    report, _ = resident_pass(start_a_child, 2)
    own, *children = report.evidence.processes
    assert own.name == probe.OWN
    assert own.peak_bytes < 2 * MIB
    assert [child for child in children if child.name != UNSEEN][1:] == []  # never two at once
    peak = sum(child.peak_bytes for child in children)  # part of it where nobody looked just then
    assert peak > 30 * MIB
    assert report.values["peak_rss"] == own.peak_bytes + peak


KEPT: list[bytearray] = []


def keep_more() -> None:
    KEPT.append(filled(200_000))


def test_what_every_call_leaves_behind_is_its_growth():
    report, _ = resident_pass(keep_more, 12)
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
