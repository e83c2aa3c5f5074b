"""Steps are handed out whole, and exchanges come neither too often nor too seldom."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.errors import SettingError
from rl_impls.runtimes.mpi.messages import RankReport
from rl_impls.runtimes.mpi.sync import (
    BATCH,
    CATCH_UP,
    FIRST_PERIOD,
    LONGEST_PERIOD,
    NEW_PART,
    SYNC_PART,
    Pace,
)

M = 1_000_000


def report(*, steps=M, compute_s=1.0, elapsed_s=1.0, sync_s):
    return RankReport(steps, 0, 0.0, compute_s, elapsed_s, sync_s, 0)


@settings(deadline=None)
@given(st.integers(0, 10**9), st.lists(st.floats(0.0, 1e8), min_size=1, max_size=8))
def test_parts_make_the_period_or_what_is_left_in_whole_batches(left, speeds):
    parts = Pace(FIRST_PERIOD, tuple(speeds), is_chosen=True).parts(left)
    assert sum(parts) == min(left, FIRST_PERIOD * len(speeds))
    assert min(parts) >= 0
    assert all(part % BATCH == 0 for part in parts[:-1])


@settings(deadline=None)
@given(st.integers(0, 10**6), st.lists(st.tuples(st.floats(0, 1e8), st.floats(0, 99)), min_size=1))
def test_all_steps_are_made_in_the_end_and_no_others(left, ranks):
    speeds, lags_s = zip(*ranks, strict=True)
    pace = Pace(FIRST_PERIOD, speeds, is_chosen=False, lags_s=lags_s)
    while left:
        parts = pace.parts(left)
        assert min(parts) >= 0
        assert 0 < sum(parts) <= min(left, FIRST_PERIOD * len(speeds))
        left -= sum(parts)


def test_the_last_periods_are_shorter():
    pace = Pace(FIRST_PERIOD, (1.0, 1.0), is_chosen=False)
    whole = 2 * FIRST_PERIOD
    made = [sum(pace.parts(left)) / whole for left in (9 * whole, whole, whole // 2, whole // 4)]
    assert made == [1.0, 0.5, 0.25, 0.25]


def test_a_rank_that_is_late_makes_fewer_steps_until_it_is_not():
    pace = Pace.begin(2, None).after([report(sync_s=0.0), report(sync_s=0.0, elapsed_s=1.01)], M)
    first, late = pace.parts(10**9)
    assert first + late == 2 * FIRST_PERIOD
    assert first - late == pytest.approx(CATCH_UP * 0.01 * M, abs=2 * BATCH)


def test_a_chosen_period_stays_and_is_the_same_for_all():
    pace = Pace.begin(2, 100_000).after([report(sync_s=9.0), report(steps=9, sync_s=9.0)], M)
    assert pace.parts(10**9) == [100_032, 100_032]


def test_a_quicker_rank_makes_more_steps():
    pace = Pace.begin(2, None).after([report(sync_s=0.0), report(steps=3 * M, sync_s=0.0)], M)
    assert pace.parts(10**9) == [FIRST_PERIOD // 2, 3 * FIRST_PERIOD // 2]


@pytest.mark.parametrize(
    ("sync_s", "period"),
    [
        (0.0, FIRST_PERIOD),
        (100.0, 2 * FIRST_PERIOD),
        (1e-9, FIRST_PERIOD // 2),
        (SYNC_PART * FIRST_PERIOD / M, FIRST_PERIOD),
    ],
)
def test_a_period_follows_what_an_exchange_costs(sync_s, period):
    waited = report(sync_s=1000.0)
    pace = Pace.begin(2, None).after([waited, report(sync_s=sync_s)], M)
    assert pace.period == pytest.approx(period, abs=BATCH)
    assert pace.period % BATCH == 0


def test_ranks_do_not_learn_much_apart_while_they_know_little():
    pace = Pace.begin(2, None)
    for _ in range(9):
        pace = pace.after([report(sync_s=9.0)] * 2, M)
    assert pace.period == pytest.approx(NEW_PART * M / 2, abs=BATCH)


def test_a_period_has_bounds():
    tiny = report(sync_s=1e-12)
    long = short = Pace.begin(2, None)
    for _ in range(30):
        long = long.after([report(sync_s=9.0)] * 2, M * M)
        short = short.after([tiny] * 2, M * M)
    assert (short.period, long.period) == (BATCH, LONGEST_PERIOD)


def test_a_rank_that_had_nothing_to_do_keeps_its_speed():
    idle = report(steps=0, compute_s=0.0, sync_s=1.0)
    pace = Pace.begin(2, None).after([report(sync_s=1.0)] * 2, M)
    assert pace.after([idle, idle], M).speeds == pace.speeds


def test_one_rank_has_nobody_to_tell_anything():
    assert Pace.begin(1, None).parts(10**9) == [LONGEST_PERIOD]


def test_no_steps_between_exchanges_are_refused():
    with pytest.raises(SettingError, match="at least 1, not 0"):
        Pace.begin(2, 0)
