"""Peaks of child processes, seen from outside and as the kernel sums them up."""

from pytest_rlperf.memory.probe import UNSEEN, with_unseen
from pytest_rlperf.memory.watcher import ChildWatch


def test_children_that_never_lived_together_are_not_added():
    watch = ChildWatch({})
    watch.take({1: ("a", 100)})
    watch.take({2: ("b", 120)})
    assert watch.as_dict() == {"peaks": [("b", 120)], "largest": 120}


def test_children_that_lived_together_are():
    watch = ChildWatch({})
    watch.take({1: ("a", 100), 2: ("b", 50)})
    watch.take({2: ("b", 120)})
    assert watch.as_dict() == {"peaks": [("a", 100), ("b", 50)], "largest": 120}


def test_of_a_child_that_was_there_before_only_what_it_took_more_counts():
    watch = ChildWatch({1: 80})
    watch.take({1: ("a", 100)})
    assert watch.as_dict() == {"peaks": [("a", 20)], "largest": 100}


def test_without_children_there_is_nothing():
    watch = ChildWatch({})
    watch.take({})
    assert watch.as_dict() == {"peaks": [], "largest": 0}


def test_a_peak_between_two_looks_is_known_from_the_kernel():
    assert with_unseen([("a", 20)], largest=20, ended=90, known=50) == [("a", 20), (UNSEEN, 70)]


def test_a_mark_that_may_be_the_parents_own_says_nothing():
    assert with_unseen([("a", 20)], largest=20, ended=50, known=50) == [("a", 20)]
