"""What the kernel says of calls: real allocations, whose sizes are known."""

import multiprocessing
import sys

import pytest

from pytest_rlperf.memory import resident
from pytest_rlperf.memory.children import UNSEEN

MIB = 2**20
CLOSE = MIB // 2

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="high-water marks of Linux")


def filled(size: int) -> bytearray:
    return bytearray(b"x") * size


def test_a_call_that_allocates_nothing_takes_nothing():
    facts, _ = resident.resident_pass(lambda: None, 3)
    assert facts["values"]["peak_rss"] < CLOSE
    assert facts["values"]["uss"] < CLOSE
    assert facts["values"]["shared_memory"] == 0


def test_the_last_result_is_handed_on_and_counts_as_held():
    facts, result = resident.resident_pass(lambda: filled(5 * MIB), 3)
    assert len(result) == 5 * MIB
    assert facts["values"]["peak_rss"] == pytest.approx(5 * MIB, abs=CLOSE)
    assert facts["values"]["uss"] == pytest.approx(5 * MIB, abs=CLOSE)


def spike() -> None:
    filled(50 * MIB)


def test_memory_that_is_freed_at_once_is_not_missed():
    facts, _ = resident.resident_pass(spike, 1)
    assert facts["values"]["peak_rss"] == pytest.approx(50 * MIB, abs=CLOSE)
    assert facts["values"]["uss"] < CLOSE


def test_a_child_process_is_included_and_named():
    def call() -> None:
        process = multiprocessing.get_context("fork").Process(target=filled, args=(30 * MIB,))
        process.start()
        process.join()

    facts, _ = resident.resident_pass(call, 2)
    (own, own_peak), *children = facts["processes"]
    assert own == resident.OWN
    assert own_peak < 2 * MIB
    assert [name for name, _ in children if name != UNSEEN][1:] == []  # never two at once
    peak = sum(size for _, size in children)  # part of it where nobody looked at that moment
    assert peak > 30 * MIB
    assert facts["values"]["peak_rss"] == own_peak + peak


def test_what_every_call_leaves_behind_is_its_growth():
    kept: list[bytearray] = []
    facts, _ = resident.resident_pass(lambda: kept.append(filled(200_000)), 12)
    assert facts["values"]["growth_rss"] == pytest.approx(200_000, rel=0.1)


def test_a_segment_of_shared_memory_is_listed_while_it_is_mapped():
    from multiprocessing.shared_memory import SharedMemory

    made: list[SharedMemory] = []

    def call() -> None:
        made.append(SharedMemory(create=True, size=3 * MIB))

    try:
        facts, _ = resident.resident_pass(call, 1)
        assert facts["values"]["shared_memory"] == pytest.approx(3 * MIB, abs=4096)
        assert facts["left"] == [made[0].name.lstrip("/")]
    finally:
        for segment in made:
            segment.close()
            segment.unlink()
