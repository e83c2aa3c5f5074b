"""The length and nature of a call choose how it is measured, also in a duet with the kernels."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.block import Block, SideBlock
from pytest_rlperf.model.plan import SETUP_CALLS_MAX, Mode, Plan, Scouted
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.worker.kernels import NAMES, PIECE_CALLS
from pytest_rlperf.workers.planning import (
    CROWDED,
    LIVE_BLOCK_NS,
    LONGEST,
    LONGEST_TURN_NS,
    PAIRS,
    ROOMY_SLICE_NS,
    SETUP_SLICE_NS,
    SLICE_NS,
    block_seconds,
    choose_plan,
    lengthened,
    settled,
    times_for,
    with_kernels,
)
from tests.factories import examples, side

US, MS, S = 1e3, 1e6, 1e9
CORES = 4


def seen(call_ns: float, cpu_share: float = 1.0, processes: int = 1) -> Scouted:
    return Scouted(call_ns, first_ns=2 * call_ns, cpu_share=cpu_share, processes=processes)


def plan(call_ns: float, spec: Spec | None = None, cores: int = CORES) -> Plan:
    return choose_plan(seen(call_ns), spec or Spec(), cores)


@pytest.mark.parametrize(
    ("call_ns", "mode"),
    [
        (100, Mode.SLICED),
        (1 * US, Mode.SLICED),
        (1 * MS, Mode.SLICED),
        (10 * MS, Mode.CONCURRENT),
        (0.5 * S, Mode.CONCURRENT),
        (30 * S, Mode.CONCURRENT),
    ],
)
def test_short_calls_take_turns_and_long_ones_run_together(call_ns: float, mode: Mode):
    assert plan(call_ns).mode is mode


CROWDED_BY = CROWDED + 0.05


def after_first_block(
    first: Plan, scouted: Scouted, head: float = CROWDED_BY, base: float = CROWDED_BY
) -> Plan:
    """The plan after a block in which calls took so many times as long as alone, by side."""

    def measured(slower: float) -> SideBlock:
        slice_ns = round(first.calls * scouted.call_ns * slower)
        return side([slice_ns], calls=first.calls, alone_ns=scouted.call_ns)

    return settled(first, scouted, Block(measured(head), measured(base)))


@pytest.mark.parametrize("call_ns", [20 * US, 2.5 * MS, 4 * MS, 12 * MS, 50 * MS])
def test_sides_that_take_the_caches_from_each_other_get_long_turns(call_ns: float):
    room = after_first_block(plan(call_ns), seen(call_ns))
    assert (room.mode, room.abreast, room.alone) == (Mode.SLICED, False, 0)
    assert room.calls == max(1, round(ROOMY_SLICE_NS / call_ns))
    assert room.pairs >= 4
    assert room.exclusive


@pytest.mark.parametrize(("head", "base"), [(1.0, 1.0), (1.5, 1.0), (1.0, 1.5), (1.2, 1.2)])
def test_a_plan_stays_unless_both_sides_are_slower_beside_each_other(head: float, base: float):
    first = plan(4 * MS)
    assert after_first_block(first, seen(4 * MS), head, base) == replace(first, alone=0)


def test_turns_are_as_long_as_a_call_takes_alone_whatever_a_disturbed_scout_saw():
    crowded = side([round(4 * MS)], alone_ns=2.5 * MS)
    room = settled(plan(10 * MS), seen(10 * MS), Block(crowded, crowded))
    assert (room.mode, room.calls) == (Mode.SLICED, 4)


@pytest.mark.parametrize(
    ("scouted", "spec"),
    [
        (seen(4 * MS, processes=2), Spec()),
        (replace(seen(4 * MS), rounds=8), Spec()),
        (replace(seen(4 * MS), hosted=True), Spec()),
        (replace(seen(4 * MS), exchanges=1), Spec()),
        (seen(4 * MS), Spec(iterations=8)),
        (seen(4 * MS), Spec(waits=True)),
        (seen(2 * LONGEST_TURN_NS), Spec()),
    ],
)
def test_a_test_that_leaves_no_choice_is_not_looked_at_alone(scouted: Scouted, spec: Spec):
    first = choose_plan(scouted, spec, CORES)
    assert first.alone == 0
    block = Block(side([round(100 * MS)]), side([round(100 * MS)]))
    assert settled(first, scouted, block) == first


def test_a_test_is_looked_at_alone_for_as_long_as_a_long_turn():
    assert plan(2.5 * MS).alone == 4
    assert with_kernels(plan(2.5 * MS), seen(2.5 * MS), dict.fromkeys(NAMES, MS)).alone == 0


@pytest.mark.parametrize(
    ("call_ns", "abreast"), [(1 * MS, False), (4 * MS, True), (50 * MS, True), (0.5 * S, False)]
)
def test_long_calls_go_abreast_but_not_where_a_further_one_would_take_as_long_as_the_block(
    call_ns: float, abreast: bool
):
    assert plan(call_ns).abreast is abreast


def test_ranks_and_tests_that_count_their_calls_meet_after_every_slice():
    ranks = replace(seen(10 * MS, processes=2), exchanges=1)
    counting = replace(seen(10 * MS), rounds=8)
    for met in (ranks, counting):
        found = choose_plan(met, Spec(), CORES)
        assert (found.mode, found.abreast) == (Mode.CONCURRENT, False)


@pytest.mark.parametrize("call_ns", [100, 1 * US, 50 * US, 1 * MS])
def test_a_slice_holds_as_many_calls_as_fill_a_turn(call_ns: float):
    found = plan(call_ns)
    assert found.calls * call_ns == pytest.approx(SLICE_NS)
    assert found.pairs == PAIRS[Mode.SLICED][1]


@pytest.mark.parametrize("call_ns", [0.5 * S, 30 * S])
def test_a_long_call_is_a_slice_of_its_own_and_a_block_has_one(call_ns: float):
    found = plan(call_ns)
    assert (found.calls, found.pairs) == (1, 1)


@pytest.mark.parametrize("call_ns", [9 * MS, 13 * MS, 17 * MS, 25 * MS, 50 * MS])
def test_a_block_holds_whole_periods_of_work_that_comes_every_few_calls(call_ns: float):
    assert plan(call_ns).pairs in (4, 8)


def test_an_immeasurably_short_call_still_gets_a_plan():
    assert plan(0.0).calls == pytest.approx(SLICE_NS)


def test_setup_bounds_the_states_that_are_alive_at_once():
    fresh = replace(seen(100), has_setup=True)
    assert choose_plan(fresh, Spec(), CORES).calls == SETUP_CALLS_MAX


@pytest.mark.parametrize(
    ("setup_ns", "calls"),
    [(0.0, SETUP_CALLS_MAX), (0.1 * MS, 100), (1 * MS, 10), (SETUP_SLICE_NS, 1), (2 * S, 1)],
)
def test_a_costly_setup_bounds_the_calls_of_a_slice(setup_ns: float, calls: int):
    fresh = replace(seen(100), has_setup=True, setup_ns=setup_ns)
    assert choose_plan(fresh, Spec(), CORES).calls == calls


def test_time_spent_in_setup_leaves_room_for_fewer_pairs():
    cheap = replace(seen(1 * MS), has_setup=True)
    costly = replace(cheap, setup_ns=20 * MS)
    pairs = [choose_plan(facts, Spec(), CORES).pairs for facts in (cheap, costly)]
    assert pairs[0] > pairs[1] >= PAIRS[Mode.SLICED][0]


@pytest.mark.parametrize("call_ns", [100, 0.7 * MS, 10 * MS, 2 * S])
@pytest.mark.parametrize("iterations", [1, 10, 1000])
def test_declared_iterations_are_made_with_less_than_a_slice_too_many(
    call_ns: float, iterations: int
):
    found = plan(call_ns, Spec(iterations=iterations))
    assert iterations <= found.calls * found.pairs < iterations + found.calls


def test_a_test_that_waits_by_design_takes_turns_and_is_judged_on_wall_time():
    found = plan(50 * MS, Spec(waits=True))
    assert found.mode is Mode.SLICED
    assert found.wall


def test_a_call_that_is_seen_to_wait_takes_turns():
    found = choose_plan(seen(50 * MS, cpu_share=0.3), Spec(), CORES)
    assert found.mode is Mode.SLICED
    assert not found.wall


@pytest.mark.parametrize(("threads", "cores"), [(1, 1), (2, 2), (8, CORES)])
def test_a_test_gets_as_many_cores_as_threads_while_there_are_some(threads: int, cores: int):
    found = plan(10 * MS, Spec(threads=threads))
    assert found.cores == cores
    assert found.mode is (Mode.CONCURRENT if threads == 1 else Mode.SLICED)


@pytest.mark.parametrize(("processes", "cores"), [(2, 2), (9, CORES)])
def test_a_test_with_several_processes_plays_with_live_jobs(processes: int, cores: int):
    found = choose_plan(seen(10 * MS, processes=processes), Spec(), CORES)
    assert (found.mode, found.cores) == (Mode.LIVE, cores)
    assert PAIRS[Mode.LIVE][0] <= found.pairs <= PAIRS[Mode.LIVE][1]


def test_where_nothing_can_be_pinned_long_calls_take_turns_too():
    found = plan(50 * MS, cores=0)
    assert (found.mode, found.cores) == (Mode.SLICED, 1)


@pytest.mark.parametrize("warmup", [0, 1, 5])
@pytest.mark.parametrize("call_ns", [1 * MS, 0.5 * S])
@pytest.mark.parametrize("first", [1.0, 2.0])
def test_the_declared_warm_up_is_kept(warmup: int, call_ns: float, first: float):
    facts = replace(seen(call_ns), first_ns=first * call_ns)
    assert choose_plan(facts, Spec(warmup=warmup), CORES).warmup == warmup


def test_a_short_call_is_warmed_up_even_if_its_first_one_was_warm():
    facts = replace(seen(1 * MS), first_ns=1 * MS)
    assert choose_plan(facts, Spec(), CORES).warmup == 1


def test_a_job_is_warmed_up_since_its_processes_may_be_made_in_the_first_call():
    facts = replace(seen(0.5 * S, processes=4), first_ns=0.5 * S)
    assert choose_plan(facts, Spec(), CORES).warmup == 1


@pytest.mark.parametrize(("first_ns", "warmup"), [(0.51 * S, 0), (0.9 * S, 1)])
def test_a_long_call_is_warmed_up_only_if_its_first_one_was_cold(first_ns: float, warmup: int):
    facts = replace(seen(0.5 * S), first_ns=first_ns)
    assert choose_plan(facts, Spec(), CORES).warmup == warmup


@examples
@given(st.floats(1, 60 * S), st.floats(0, 1), st.integers(1, 64), st.booleans(), st.integers(0, 64))
def test_whatever_is_seen_there_is_a_plan_of_bounded_length(
    call_ns: float, cpu_share: float, processes: int, has_setup: bool, cores: int
):
    facts = replace(seen(call_ns, cpu_share, processes), has_setup=has_setup)
    found = choose_plan(facts, Spec(), cores)
    slices_s = 2 * found.calls * found.pairs * call_ns / S
    aim_s = LIVE_BLOCK_NS / S  # at most doubled, for a power of two
    assert slices_s <= max(2 * aim_s, 2 * PAIRS[found.mode][0] * call_ns / S)
    assert math.isfinite(block_seconds(found, facts))


def test_a_blocks_expected_time_counts_both_sides_slices_and_warm_up():
    found = Plan(Mode.SLICED, calls=2, pairs=9, warmup=3)
    # 20 calls a side in slices, one of them untimed, 3 to warm up, and the slow first call.
    assert block_seconds(found, seen(10 * MS)) == pytest.approx(2 * 23 * 0.01 + 0.02)


def test_a_blocks_expected_time_counts_setup():
    found, cheap = Plan(Mode.SLICED, calls=2, pairs=9, warmup=3), seen(10 * MS)
    costly = replace(cheap, has_setup=True, setup_ns=30 * MS)
    more = block_seconds(found, costly) - block_seconds(found, cheap)
    assert more == pytest.approx(2 * 23 * 0.03)


@pytest.mark.parametrize(
    ("free_s", "planned_s", "times"),
    [
        (0.0, 1.0, 1),
        (0.9, 1.0, 1),
        (1.9, 1.0, 1),
        (2.0, 1.0, 2),
        (7.0, 1.0, 4),
        (60.0, 0.2, LONGEST),
        (1.0, 0.0, 1),
    ],
)
def test_a_block_is_lengthened_as_long_as_all_of_it_fits_into_the_time_that_is_free(
    free_s: float, planned_s: float, times: int
):
    assert times_for(free_s, planned_s) == times


def test_a_longer_block_has_more_pairs_of_the_same_slices():
    short = plan(10 * MS)
    assert lengthened(short, Spec(), 4) == replace(short, pairs=4 * short.pairs)


def test_declared_iterations_are_not_lengthened():
    spec = Spec(iterations=3)
    short = plan(10 * MS, spec)
    assert lengthened(short, spec, 4) == short


@pytest.mark.parametrize(
    ("call_ns", "exchanges", "ranks", "mode"),
    [
        (10 * MS, 1, 2, Mode.CONCURRENT),
        (10 * MS, 0, 1, Mode.CONCURRENT),  # of one rank: there is nobody to wait for
        (10 * MS, 100, 2, Mode.LIVE),  # it would wait for messages most of the time
        (10 * MS, 0, 2, Mode.LIVE),  # by a communicator that nobody sees, perhaps
        (10 * MS, 1, CORES + 1, Mode.LIVE),
        (1 * MS, 1, 2, Mode.LIVE),
    ],
)
def test_mpi_jobs_run_together_where_their_ranks_compute_for_long(
    call_ns: float, exchanges: int, ranks: int, mode: Mode
):
    ranked = replace(seen(call_ns, processes=ranks), exchanges=exchanges)
    assert choose_plan(ranked, Spec(), CORES).mode is mode


def test_mpi_jobs_that_wait_by_design_take_turns():
    ranked = replace(seen(10 * MS, processes=2), exchanges=1)
    assert choose_plan(ranked, Spec(waits=True), CORES).mode is Mode.LIVE


# -- a duet with the kernels: all of them in every slice, as long as the test's -----------------


MS_NS = 10**6
UNIT_NS = {"stride": 100_000.0, "interpreter": 50_000.0}  # a round takes a millisecond
PLAN = Plan(Mode.SLICED, calls=2, pairs=32, warmup=1)
SEEN = Scouted(call_ns=MS_NS, first_ns=MS_NS, cpu_share=1.0, processes=1)


def test_every_kernel_has_its_calls_of_a_piece():
    assert PIECE_CALLS.keys() == NAMES


def test_all_kernels_play_in_a_slice_as_long_as_the_test():
    found = with_kernels(PLAN, SEEN, UNIT_NS)
    assert found == replace(PLAN, kernels=(("interpreter", 12), ("stride", 4)), kernel_rounds=2)


def test_in_a_long_slice_pieces_are_longer_and_come_again_and_again():
    found = with_kernels(PLAN, replace(SEEN, call_ns=150 * MS_NS), UNIT_NS)
    assert (found.kernels, found.kernel_rounds) == ((("interpreter", 36), ("stride", 12)), 100)


def test_the_kernels_meet_the_test_in_every_slice():
    abreast = Plan(Mode.CONCURRENT, calls=1, pairs=8, warmup=1, abreast=True)
    assert not with_kernels(abreast, SEEN, UNIT_NS).abreast


@examples
@given(
    st.floats(1e2, 1e11),
    st.dictionaries(st.sampled_from(sorted(NAMES)), st.floats(1e4, 2e5), min_size=1),
    st.floats(0.2, 5.0),
)
def test_a_piece_is_the_same_however_fast_the_kernels_seemed(
    call_ns: float, unit_ns: dict[str, float], slower: float
):
    seen = replace(SEEN, call_ns=call_ns)
    found = with_kernels(PLAN, seen, unit_ns)
    again = with_kernels(PLAN, seen, {name: slower * ns for name, ns in unit_ns.items()})
    assert found.kernels == again.kernels
    assert found.kernel_rounds >= 1
    round_ns = sum(calls * unit_ns[name] for name, calls in found.kernels)
    assert abs(found.kernel_rounds * round_ns - PLAN.calls * call_ns) <= max(
        0.5 * round_ns, abs(round_ns - PLAN.calls * call_ns)
    )
