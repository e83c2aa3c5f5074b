"""Which stored sizes may be compared with."""

from pytest_rlperf.judge.stored_memory import MemoryLevel, memory_level
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.model.baseline import StoredMemory
from pytest_rlperf.model.memory import METRICS
from tests.factories import FACTS, a_stored

VALUES = {"peak_rss": (5e6, 5e6, 5e6), "traced_peak": (4e6, 4e6, 4e6)}
MEMORY = StoredMemory("2030-01-02", "a" * 40, False, FACTS, 30, VALUES)
STORED = a_stored(memory=MEMORY)
BY_NAME = {metric.name: metric for metric in METRICS}


def test_under_the_same_facts_all_sizes_may_be():
    level = memory_level(STORED, "abc", FACTS)
    assert level == MemoryLevel(VALUES, repeats=30)


def test_on_another_cpu_only_what_was_traced_may_be():
    level = memory_level(STORED, "abc", {**FACTS, "cpu": "Another"})
    assert isinstance(level, MemoryLevel)
    assert level.ended_for(BY_NAME["traced_peak"]) is None
    ended = level.ended_for(BY_NAME["peak_rss"])
    assert ended is not None
    assert "cpu was Some CPU, is Another" in ended.reason


def test_under_another_python_nothing_may_be():
    level = memory_level(STORED, "abc", {**FACTS, "python": "3.12"})
    assert isinstance(level, Ended)
    assert "Python version was 3.11, is 3.12" in level.reason


def test_sizes_of_another_benchmark_may_not_be():
    level = memory_level(STORED, "xyz", FACTS)
    assert isinstance(level, Ended)
    assert level.reason.startswith("the benchmark itself changed")


def test_where_none_are_stored_there_is_no_level():
    assert memory_level(a_stored(), "abc", FACTS) is None
