"""Schedules: their ends, and the form that compiled code follows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_impls.tabular import Constant, Exponential, Linear
from tests.factories import examples

rates = st.floats(0, 1)
pers = st.sampled_from(["step", "episode"])
schedules = st.one_of(
    st.builds(Constant, rates),
    st.builds(Linear, rates, rates, st.integers(1, 30), pers),
    st.builds(lambda a, b, decay, per: Exponential(max(a, b), decay, min(a, b), per),
              rates, rates, rates, pers),
)  # fmt: skip


@examples
@given(schedule=schedules, begin=st.integers(0, 20))
def test_a_course_takes_the_values_of_its_schedule(schedule, begin):
    course = schedule.course(begin)
    value = course.value
    assert course.per_step == (schedule.per == "step")
    for n in range(begin, begin + 40):
        assert value == pytest.approx(schedule.at(n), abs=1e-12)
        value = min(max(value * course.factor + course.slope, course.low), course.high)


def test_a_line_ends_where_it_says():
    line = Linear(1.0, 0.2, over=4, per="step")
    assert [line.at(n) for n in (0, 2, 4, 9)] == pytest.approx([1.0, 0.6, 0.2, 0.2])


@examples
@given(rates, rates, st.integers(1, 30), st.integers(2, 9), st.integers(0, 60))
def test_a_line_of_strides_is_the_line_at_the_beginning_of_each(start, end, over, stride, n):
    stairs, line = Linear(start, end, over, "step", stride), Linear(start, end, over, "step")
    assert stairs.at(n) == line.at(n // stride * stride)
    course = stairs.course(n)
    assert (course.value, course.factor, course.slope) == (stairs.at(n), 1.0, 0.0)


def test_a_decay_stops_at_its_minimum():
    decay = Exponential(1.0, 0.5, 0.2, per="episode")
    assert [decay.at(n) for n in range(5)] == [1.0, 0.5, 0.25, 0.2, 0.2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(1.5), "value lies between 0 and 1, not at 1.5"),
        (lambda: Linear(1.0, 0.0, 0, "step"), "at least 1 step, not 0"),
        (lambda: Linear(1.0, 0.0, 5, "step", 0), "stays as it is for at least 1 step, not 0"),
        (lambda: Linear(1.0, 0.0, 5, "game"), "not per 'game'"),  # type: ignore[arg-type]
        (lambda: Exponential(0.1, 0.9, 0.5, "step"), "minimum 0.5 lies above the start 0.1"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
