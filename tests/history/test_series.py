"""Which points of a history can be compared, and what their levels rest on."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from pytest_rlperf.history.records import PastTest, Signal
from pytest_rlperf.history.series import Series, all_series
from pytest_rlperf.model.block import ReferenceTime
from tests.factories import a_past, a_past_metric
from tests.history.histories import commit_name, dated, in_duets, in_reference_units


def at(number: int, **fields: Any) -> PastTest:
    return a_past(commit_name(number), created=dated(number), **fields)


def played(number: int, weights: dict[str, float] | None = None, **ratios: float) -> PastTest:
    return at(number, reference=ReferenceTime(1, ratios, weights or {}))


def dueted(number: int, base: int, change: float = 0.01) -> PastTest:
    metric = a_past_metric(change=change, low=change - 0.01, high=change + 0.01)
    return at(number, base=commit_name(base), metrics=(metric,))


def only(*tests: PastTest) -> Series:
    (series,) = all_series(tests)
    return series


def commits(series: Series) -> list[str]:
    return [point.commit for point in series.points]


def test_reference_units_come_before_plain_times():
    series = only(*in_reference_units(random.Random(1), [0.0] * 5))
    assert series.signal is Signal.REFERENCE
    assert max(series.levels) - min(series.levels) < 0.15  # plain times differ by 70 %


def test_the_unit_that_was_chosen_last_is_that_of_all_points():
    series = only(
        played(1, {"a": 1.0}, a=0.1, b=0.5),
        played(2, {"a": 0.5, "b": 0.5}, a=0.3, b=0.5),
        played(3, None, a=0.2, b=0.8),
    )
    assert series.levels == pytest.approx([0.3, 0.4, 0.5])


def test_without_a_chosen_unit_all_kernels_count_alike_and_the_clock_does_not():
    series = only(played(1, clock=9.0, a=0.1, b=0.5), played(2, clock=1.0, a=0.3, b=0.5))
    assert series.levels == pytest.approx([0.3, 0.4])


def test_points_that_lack_a_kernel_or_are_of_another_edition_are_left_out():
    other = at(1, reference=ReferenceTime(2, {"a": 0.1}, {}))
    series = only(other, played(2, b=0.1), played(3, a=0.1), played(4, {"a": 1.0}, a=0.1))
    assert commits(series) == [commit_name(3), commit_name(4)]
    assert series.left_out == 2


@pytest.mark.parametrize(
    "elsewhere",
    [{"machine": "other"}, {"python": "3.11.2, Clang 18.1.3"}, {"source_hash": "other"}],
)
def test_levels_of_other_surroundings_are_left_out(elsewhere: dict[str, Any]):
    past = in_reference_units(random.Random(1), [0.0] * 5)
    series = only(replace(past[0], **elsewhere), *past[1:])
    assert (len(series.points), series.left_out) == (4, 1)


def test_a_chain_goes_on_over_machines_and_edits():
    past = in_duets(random.Random(1), [0.0] * 5)
    series = only(replace(past[0], machine="other", source_hash="other"), *past[1:])
    assert (series.signal, len(series.points), series.left_out) == (Signal.CHAIN, 4, 0)


def test_the_changes_of_a_chain_multiply():
    series = only(dueted(1, 0, 0.1), dueted(2, 1, 0.1), dueted(3, 2, -0.5))
    assert series.levels == pytest.approx([math.log(1.1), math.log(1.21), math.log(0.605)])


def test_a_link_has_the_error_behind_its_interval():
    link = only(dueted(1, 0), dueted(2, 1)).points[0].link
    assert link is not None
    assert link.bound(0.975) == pytest.approx(math.log1p(0.02), rel=0.01)
    assert link.freedom == 4


def test_a_chain_begins_after_a_gap():
    series = only(dueted(1, 0), dueted(2, 1), dueted(4, 3), dueted(5, 4), dueted(6, 5))
    assert commits(series) == [commit_name(number) for number in (4, 5, 6)]
    assert series.left_out == 2


def test_a_chain_that_bites_its_own_tail_ends():
    series = only(dueted(1, 2), dueted(2, 1))
    assert len(series.points) == 2


def test_duets_with_one_commit_are_levels():
    series = only(dueted(1, 0, 0.1), dueted(2, 0, 0.2), dueted(3, 0, 0.3))
    assert series.signal is Signal.FIXED
    assert series.levels == pytest.approx([math.log(x) for x in (1.1, 1.2, 1.3)])


def test_sizes_are_compared_as_they_are():
    sizes = [
        at(number, metrics=(a_past_metric("peak_rss", unit="bytes", value=value),))
        for number, value in enumerate((1e6, 2e6))
    ]
    series = only(*sizes)
    assert series.signal is Signal.SIZE
    assert series.levels == pytest.approx([math.log(1e6), math.log(2e6)])


def test_what_has_no_partner_is_plain_times():
    assert only(at(1), at(2)).signal is Signal.CLOCK
    assert only(at(1), dueted(2, 1)).signal is Signal.CLOCK


def test_a_first_point_is_no_plain_time_if_it_has_a_partner():
    assert only(played(1, a=0.1)).signal is Signal.REFERENCE
    assert only(dueted(1, 0)).signal is not Signal.CLOCK


def test_several_results_of_a_commit_are_one_point():
    again = replace(played(1, a=0.3), created=dated(9), committed=dated(1))
    series = only(played(1, a=0.1), again, played(2, a=0.5))
    assert series.levels == pytest.approx([0.2, 0.5])


def test_points_stand_in_the_order_of_their_commits():
    later = replace(at(3), committed=dated(1))
    assert commits(only(at(2), later)) == [commit_name(3), commit_name(2)]


def test_a_result_that_two_clones_appended_counts_once():
    known, unknown = replace(at(1), committed=dated(0)), at(1)
    assert len(only(unknown, known, at(2)).points) == 2


def test_numbers_that_may_be_zero_have_no_series():
    growth = a_past_metric("growth", unit="bytes/repeat", value=0.0)
    assert all_series([at(1, metrics=(growth,)), at(2, metrics=(growth,))]) == []


# -- what was learned ---------------------------------------------------------------------------


def learned(number: int, value: float, **fields: Any) -> PastTest:
    outcome = fields.pop("outcome", "unchanged")
    metric = a_past_metric(
        "mean_return", unit="", direction="higher", value=value, outcome=outcome, blocks=8
    )
    return at(number, metrics=(metric,), **fields)


def test_returns_are_compared_as_they_are_on_whichever_machine():
    series = only(learned(1, 500.0), learned(2, 400.0, machine="another"))
    assert series.signal is Signal.RETURNS
    first, second = series.levels
    assert math.expm1(second - first) == pytest.approx(0.25)  # positive is worse


def test_returns_below_zero_are_worse_the_lower_they_are():
    first, second = only(learned(1, -200.0), learned(2, -300.0)).levels
    assert math.expm1(second - first) == pytest.approx(0.5)


def test_what_learned_the_same_as_its_base_has_its_level():
    same = learned(2, 480.0, base=commit_name(1), outcome="identical")
    one, two, three = only(learned(1, 500.0), same, learned(3, 400.0)).levels
    assert one == two < three


def test_returns_of_another_sign_or_of_another_text_of_the_test_are_left_out():
    series = only(
        learned(1, -5.0), learned(2, 0.0), learned(3, 5.0, source_hash="x"), learned(4, 6.0),
        learned(5, 7.0),
    )  # fmt: skip
    assert commits(series) == [commit_name(4), commit_name(5)]
