"""The reports of the ranks add up to a report of their job."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.mpi.side import merged_facts, summed_work, time_of_slice, time_of_turns
from tests.factories import examples


def measured(*own_ns: int, **changes: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "own_ns": list(own_ns),
        "wall_ns": [ns + 5 for ns in own_ns],
        "cpu_ns": list(own_ns),
        "preempted": 1,
        "communication": 0.25,
        "peak_bytes": 1000,
        "work": {"updates": 2.0},
        "steps": 7,
    }
    return facts | changes


def test_a_slice_takes_as_long_as_its_slowest_rank():
    merged = merged_facts([measured(10, 40), measured(30, 20)])
    assert merged["own_ns"] == [30, 40]
    assert merged["wall_ns"] == [35, 45]


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
    merged = merged_facts([measured(100, exchange_ns=[2]), measured(140, exchange_ns=[60])])
    assert merged["own_ns"] == [100]


def test_ranks_that_do_not_communicate_take_as_long_as_the_slowest():
    assert time_of_turns([(100, 0), (60, 0)]) == 100


def test_cpu_time_preemptions_and_work_are_those_of_all_ranks():
    merged = merged_facts([measured(10, 40), measured(30, 20)])
    assert merged["cpu_ns"] == [40, 60]
    assert merged["preempted"] == 2
    assert merged["work"] == {"updates": 4.0}
    assert merged["steps"] == 7


def test_what_is_known_of_each_rank_is_kept():
    merged = merged_facts([measured(10, 40), measured(30, 20, communication=0.5, peak_bytes=9)])
    assert merged["ranks"] == {
        "own_ns": [50, 50],
        "communication": [0.25, 0.5],
        "peak_bytes": [1000, 9],
    }


def test_scouts_agree_but_for_their_work():
    merged = merged_facts([{"call_ns": 5.0, "work": {"n": 1.0}}, {"call_ns": 5.0, "work": {}}])
    assert merged == {"call_ns": 5.0, "work": {"n": 1.0}}


def test_kernels_take_as_long_as_on_the_slowest_rank():
    units = [{"unit_ns": {"a": 5.0, "b": 1.0}}, {"unit_ns": {"a": 4.0, "b": 2.0}}]
    assert merged_facts(units) == {"unit_ns": {"a": 5.0, "b": 2.0}}
    first, second = measured(3, 4), measured(4, 3)
    for facts in (first, second):
        del facts["communication"]
    first["kernel_ns"], second["kernel_ns"] = {"a": [1, 4]}, {"a": [3, 2]}
    merged = merged_facts([first, second])
    assert merged["kernel_ns"] == {"a": [3, 4]}
    assert "ranks" not in merged


@examples
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 99)), min_size=1))
def test_no_work_is_lost(counts: list[dict[str, float]]):
    total = sum(sum(each.values()) for each in counts)
    assert sum(summed_work(counts).values()) == pytest.approx(total)
