"""The history that a report shows: where it is read, and when the run is a part of it."""

import warnings
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.model.history import PastTest
from pytest_rlperf.report.export import run_as_dict
from pytest_rlperf.run.past import history_of, history_on
from pytest_rlperf.store.history_branch import HistoryBranch
from pytest_rlperf.store.history_entries import entries_of
from pytest_rlperf.store.history_line import Past
from tests.factories import FACTS, a_past, a_test, block, run_result
from tests.launch.repositories import new_repository

TEST = a_test(blocks=tuple(block([500], [400]) for _ in range(3)))


def result(**fields: Any) -> dict[str, Any]:
    run = run_result(TEST, a_test("test_a.py::test_b"), mode="stored", fingerprint=FACTS)
    return {**run_as_dict(run, 0), **fields}


def past(**fields: Any) -> PastTest:
    """As the result would be kept, of an earlier commit."""
    created = "2030-01-01T00:00:00+00:00"
    (test,) = entries_of(result(commit="e" * 40, created=created, **fields), "", None)
    return test


def commits(*tests: PastTest, **fields: Any) -> list[str]:
    (trend,) = history_of(Past(tests), result(**fields)).trends
    return [point.commit[0] for point in trend.points]


def test_the_branch_of_the_repository_is_read(tmp_path: Path):
    folder = new_repository(tmp_path / "repository", {"lib.py": ""})
    assert history_on(folder, "rlperf-data", result()) is None
    HistoryBranch(folder).append([a_past("a" * 40), a_past("b" * 40)])
    found = history_on(folder, "rlperf-data", result())
    assert found is not None
    assert [len(trend.points) for trend in found.trends] == [2]


@pytest.mark.parametrize("name", ["another", "no name"])
def test_a_branch_that_is_not_there_is_no_trouble(tmp_path: Path, name: str):
    folder = new_repository(tmp_path / "repository", {"lib.py": ""})
    HistoryBranch(folder).append([a_past("a" * 40)])
    assert history_on(folder, name, result()) is None


def test_outside_of_a_repository_there_is_none(tmp_path: Path):
    assert history_on(tmp_path, "rlperf-data", result()) is None


def test_only_tests_of_the_run_are_looked_at():
    other = a_past("a" * 40, "test_z.py::test_z")
    found = history_of(Past((other, past()), ("a line is damaged.",)), result())
    assert [trend.nodeid for trend in found.trends] == [TEST.nodeid]
    assert found.troubles == ("a line is damaged.",)


def test_the_run_is_the_last_point():
    assert commits(past()) == ["e", "f"]


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": "against", "base_commit": "e" * 40},
        {"dirty": True},
        {"commit": None},
        {"fingerprint": {**FACTS, "cpu": "Another CPU"}},
    ],
)
def test_a_run_of_another_kind_or_machine_is_not(fields: dict[str, Any]):
    assert commits(past(), **fields) == ["e"]


def test_a_run_that_was_appended_already_is_one_point():
    (kept,) = entries_of(result(), "", committed="2030-01-01T12:00:00+00:00")
    assert commits(past(), kept) == ["e", "f"]


def test_warnings_of_libraries_are_no_errors(monkeypatch: pytest.MonkeyPatch):
    def warn(*_: object) -> tuple[()]:
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return ()

    monkeypatch.setattr("pytest_rlperf.run.past.trends", warn)
    assert history_of(Past((past(),)), result()).trends == ()
