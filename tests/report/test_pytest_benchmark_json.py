"""A result in pytest-benchmark's format, with pytest-benchmark itself as the judge of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_benchmark.stats import Stats

from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.export import run_as_dict
from pytest_rlperf.report.pytest_benchmark_json import as_pytest_benchmark, stats_of
from tests.factories import a_test, block, examples, run_result

NODE = "tests/test_a.py::TestA::test_a[3-chain]"
MEASURED = a_test(
    NODE,
    spec=Spec(category="agents", metadata={"env": "Chain"}),
    blocks=(block([500, 500], [400, 400]), block([600, 600], [400, 400])),
)
RESULT = run_as_dict(
    run_result(MEASURED, a_test("test_b.py::test_b"), fingerprint={"system": "Linux 6.1"}), 0
)


@examples
@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=40))
def test_the_statistics_are_those_of_pytest_benchmark(times: list[float]):
    theirs = Stats()
    theirs.data = times
    ours = stats_of(times)
    counts = {"iqr_outliers", "stddev_outliers", "outliers", "ld15iqr", "hd15iqr"}
    assert ours.keys() == set(Stats.fields)
    for name in ours.keys() - counts:
        assert ours[name] == pytest.approx(getattr(theirs, name), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 20])
def test_outliers_and_whiskers_are_those_of_pytest_benchmark(number: int):
    theirs = Stats()
    theirs.data = [1.1**i for i in range(number)] + [50.0] * (number > 4)
    ours = stats_of(theirs.data)
    names = ("iqr_outliers", "stddev_outliers", "outliers", "ld15iqr", "hd15iqr")
    assert [ours[name] for name in names] == [getattr(theirs, name) for name in names]


def test_a_block_is_a_round_in_seconds():
    (found,) = as_pytest_benchmark(RESULT)["benchmarks"]
    assert found["stats"]["data"] == pytest.approx([500e-9, 600e-9])
    assert found["stats"]["rounds"] == 2
    assert found["stats"]["iterations"] == 1


def test_names_group_and_verdict_are_kept():
    (found,) = as_pytest_benchmark(RESULT)["benchmarks"]
    assert (found["name"], found["fullname"]) == ("test_a[3-chain]", NODE)
    assert (found["param"], found["group"]) == ("3-chain", "agents")
    assert found["extra_info"]["env"] == "Chain"
    assert found["extra_info"]["rlperf"]["outcome"] == "unchanged"
    assert found["extra_info"]["rlperf"]["against"] == "main (1a2b3c4)"


def test_a_test_without_blocks_is_left_out():
    names = [bench["fullname"] for bench in as_pytest_benchmark(RESULT)["benchmarks"]]
    assert names == [NODE]


def test_machine_and_commit_are_named():
    found = as_pytest_benchmark(RESULT)
    assert (found["machine_info"]["system"], found["machine_info"]["release"]) == ("Linux", "6.1")
    assert found["commit_info"]["id"] == "f" * 40
    assert found["commit_info"]["dirty"] is False
    assert found["datetime"] == "2030-01-02T03:04:05+00:00"
