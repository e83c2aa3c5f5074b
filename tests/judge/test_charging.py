"""Time outside of the project reaches those who spend it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.charging import charged
from tests.factories import examples


def test_a_librarys_time_is_its_callers():
    found = charged({"learn": 5, "sort": 10}, {"learn": {"sort": 10}}, {"sort"})
    assert found == {"learn": 15}


def test_callers_share_it_as_they_spent_it():
    spent = {"act": {"sort": 2}, "learn": {"sort": 6}}
    assert charged({"act": 1, "learn": 1, "sort": 8}, spent, {"sort"}) == {"act": 3, "learn": 7}


def test_it_passes_through_the_library():
    spent = {"learn": {"flatnonzero": 9}, "flatnonzero": {"ravel": 4}}
    own = {"learn": 1, "flatnonzero": 5, "ravel": 4}
    assert charged(own, spent, {"flatnonzero", "ravel"}) == {"learn": 10}


def test_functions_that_call_each_other_keep_none_of_it():
    spent = {"info": {"deepcopy": 9}, "deepcopy": {"dict": 6}, "dict": {"deepcopy": 3}}
    found = charged({"info": 1, "deepcopy": 5, "dict": 4}, spent, {"deepcopy", "dict"})
    assert found["info"] == pytest.approx(10, rel=1e-4)


def test_recursion_is_no_caller():
    found = charged({"f": 1, "walk": 3}, {"f": {"walk": 3}, "walk": {"walk": 2}}, {"walk"})
    assert found == {"f": 4}


def test_what_nobody_in_the_project_called_keeps_its_time():
    assert charged({"sort": 7}, {}, {"sort"}) == {"sort": 7}


@examples
@given(st.data())
def test_no_time_is_lost_or_made(data: st.DataObject):
    names = "abcdef"
    own = {name: data.draw(st.floats(0, 100)) for name in names}
    edges = st.dictionaries(st.sampled_from(names), st.floats(0, 50), max_size=3)
    spent = {name: data.draw(edges) for name in names}
    outside = data.draw(st.sets(st.sampled_from(names)))
    total = sum(charged(own, spent, outside).values())
    assert total == pytest.approx(sum(own.values()), rel=1e-4, abs=1e-6)
