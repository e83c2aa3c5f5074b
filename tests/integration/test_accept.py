"""`rlperf accept --reason`: a save that was refused because of a regression, and taken over."""

from typing import Any

import pytest

from .projects import Ended, Project, Workshop
from .stored import baseline_file, coarse, compare, library, new_project, rlperf, save, stored

ONLY = "tests/test_perf.py::test_work"
REASON = "it checks its input now"


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    project = new_project(workshop, "accept")
    assert save(project, ONLY).code == 0
    project.commit({"lib.py": library(20)})
    return project


@pytest.fixture(scope="module")
def before(project: Project) -> dict[str, Any]:
    return stored(project)


@pytest.fixture(scope="module")
def refused(project: Project, before: dict[str, Any]) -> Ended:
    return save(project, ONLY)


@pytest.fixture(scope="module")
def unreasonable(project: Project, refused: Ended) -> "list[Any]":
    """Attempts that must change nothing, with what is stored after them."""
    tries = [rlperf(project, "accept"), rlperf(project, "accept", "--reason", "  ")]
    return [*tries, stored(project)]


@pytest.fixture(scope="module")
def accepted(project: Project, unreasonable: "list[Any]") -> Any:
    return rlperf(project, "accept", "--reason", REASON)


def test_a_save_with_a_regression_is_refused(refused: Ended):
    assert refused.code == 1
    assert refused.outcomes == {"test_work": "regressed"}
    assert (
        "rlperf: nothing was saved, since a test regressed; mend it, or take it over with rlperf "
        "accept --reason TEXT." in refused.text.splitlines()
    )


def test_it_takes_a_reason(unreasonable: "list[Any]", before: dict[str, Any]):
    none, empty, left = unreasonable
    assert none.returncode == empty.returncode == 4
    assert "--reason" in none.stderr
    assert empty.stderr == "rlperf: --reason is empty; say why it may be slower.\n"
    assert left == before


def test_accepting_says_what_was_taken_over_and_where_it_is(
    accepted: Any, project: Project, refused: Ended
):
    folder = baseline_file(project).parents[1].relative_to(project.folder)
    assert accepted.returncode == 0
    first, second = accepted.stdout.splitlines()
    assert first.startswith("accepted +")
    created, commit = refused.result["created"], refused.result["commit"]
    assert first.endswith(f" % (measured {created} at {commit[:7]}): {ONLY}")
    assert second == f"saved the baseline 'main' in {folder}; commit it."


def test_the_reason_is_stored_with_the_change_and_the_commit(
    accepted: Any, project: Project, refused: Ended
):
    test = stored(project)["test_work"]
    (entry,) = test["accepted"]
    assert entry["reason"] == REASON
    assert entry["commit"] == refused.result["commit"] == test["sessions"][0]["commit"]
    assert entry["change"] == pytest.approx(refused.metric("test_work")["change"], abs=1e-6)


def test_afterwards_the_new_time_is_what_is_compared_with(accepted: Any, project: Project):
    ended = compare(project, ONLY)
    assert coarse(ended) == {"test_work": "passed"}


def test_there_is_nothing_to_accept_a_second_time(accepted: Any, project: Project):
    again = rlperf(project, "accept", "--reason", REASON)
    assert again.returncode == 4
    assert again.stderr == (
        "rlperf: there is no refused save to accept here; run pytest --rlperf --rlperf-save in the "
        "project first.\n"
    )
