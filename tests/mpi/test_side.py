"""The reports of the ranks add up to a report of their job."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.block import RankFacts, SideBlock
from pytest_rlperf.model.memory import Evidence, Pass, ProcessPeak
from pytest_rlperf.model.plan import Scouted
from pytest_rlperf.mpi.side import merged, summed_work, time_of_slice, time_of_turns
from pytest_rlperf.wire import KernelSpeeds, Measurement, MemoryReport, RankShare, ScoutReport
from tests.factories import examples


def measured(*own_ns: int, **share: Any) -> Measurement:
    block = SideBlock(
        own_ns=own_ns,
        wall_ns=tuple(ns + 5 for ns in own_ns),
        cpu_ns=own_ns,
        calls=1,
        preempted=1,
        work={"updates": 2.0},
    )
    rank = replace(RankShare(communication=0.25, peak_bytes=1000), **share)
    return Measurement(block, steps=7, rank=rank)


def job(*ranks: Measurement) -> Measurement:
    """What the ranks say together."""
    together = merged(ranks)
    assert isinstance(together, Measurement)
    return together


def test_a_slice_takes_as_long_as_its_slowest_rank():
    block = job(measured(10, 40), measured(30, 20)).block
    assert block.own_ns == (30, 40)
    assert block.wall_ns == (35, 45)


def test_a_rank_that_spins_for_a_disturbed_one_does_not_count():
    disturbed, spinning = (100, 150), (149, 149)  # own time and wall time
    assert time_of_slice([disturbed, spinning]) == 100
    assert time_of_slice([spinning, disturbed]) == 100


def test_a_rank_that_ends_before_the_others_does_not_count():
    early, late = (20, 20), (100, 100)
    assert time_of_slice([early, late]) == 100


def test_a_rank_that_is_disturbed_after_the_others_have_ended_does_not_hide_them():
    assert time_of_slice([(100, 130), (90, 110)]) == 90


@examples
@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**9)), min_size=1, max_size=8))
def test_the_time_of_a_slice_is_that_of_one_of_its_ranks(times: list[tuple[int, int]]):
    ranks = [(own, own + disturbed) for own, disturbed in times]
    assert time_of_slice(ranks) in [own for own, _ in ranks]


def test_of_jobs_that_run_at_once_the_rank_that_computes_longest_counts():
    computes_longest, waits_for_it = (100, 2), (140, 60)  # own time and its part inside of MPI
    assert time_of_turns([computes_longest, waits_for_it]) == 100
    together = job(measured(100, exchange_ns=(2,)), measured(140, exchange_ns=(60,)))
    assert together.block.own_ns == (100,)


def test_ranks_that_do_not_communicate_take_as_long_as_the_slowest():
    assert time_of_turns([(100, 0), (60, 0)]) == 100


def test_cpu_time_preemptions_and_work_are_those_of_all_ranks():
    together = job(measured(10, 40), measured(30, 20))
    assert together.block.cpu_ns == (40, 60)
    assert together.block.preempted == 2
    assert together.block.work == {"updates": 4.0}
    assert together.steps == 7


def test_what_is_known_of_each_rank_is_kept():
    together = job(measured(10, 40), measured(30, 20, communication=0.5, peak_bytes=9))
    assert together.block.ranks == RankFacts((50, 50), (0.25, 0.5), (1000, 9))
    assert together.rank is None


def test_scouts_agree_but_for_their_work():
    seen = Scouted(call_ns=5.0, first_ns=5.0, cpu_share=1.0, processes=2)
    scouts = [ScoutReport(seen, {"n": 1.0}), ScoutReport(seen)]
    assert merged(scouts) == ScoutReport(seen, {"n": 1.0})


def test_kernels_take_as_long_as_on_the_slowest_rank():
    speeds = [KernelSpeeds({"a": 5.0, "b": 1.0}), KernelSpeeds({"a": 4.0, "b": 2.0})]
    assert merged(speeds) == KernelSpeeds({"a": 5.0, "b": 2.0})
    first = replace(measured(3, 4), rank=None, kernel_ns={"a": (1, 4)})
    second = replace(measured(4, 3), rank=None, kernel_ns={"a": (3, 2)})
    together = job(first, second)
    assert together.kernel_ns == {"a": (3, 4)}
    assert together.block.ranks is None


def test_phases_are_the_mean_of_all_ranks():
    blocks = [measured(10), measured(10)]
    shares = ({"act": 0.5}, {"act": 0.25, "learn": 0.5})
    ranks = [
        replace(rank, block=replace(rank.block, phases=phases))
        for rank, phases in zip(blocks, shares, strict=True)
    ]
    assert job(*ranks).block.phases == {"act": 0.375, "learn": 0.25}


def test_memory_is_summed_and_each_process_named_by_its_rank():
    ranks = [
        MemoryReport(
            Pass.RESIDENT,
            3,
            {"peak_rss": size},
            Evidence((ProcessPeak("own", size),), exact=exact),
            call_s,
        )
        for size, exact, call_s in ((5, True, 0.1), (7, False, 0.3))
    ]
    together = merged(ranks)
    assert isinstance(together, MemoryReport)
    assert (together.values, together.call_s) == ({"peak_rss": 12}, 0.3)
    peaks = (ProcessPeak("rank 0: own", 5), ProcessPeak("rank 1: own", 7))
    assert together.evidence == Evidence(peaks, exact=False)


@examples
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 99)), min_size=1))
def test_no_work_is_lost(counts: list[dict[str, float]]):
    total = sum(sum(each.values()) for each in counts)
    assert sum(summed_work(counts).values()) == pytest.approx(total)
