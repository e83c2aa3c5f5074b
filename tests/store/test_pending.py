"""A refused save: kept in the cache until it is accepted, and found from within its project."""

from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.baseline import Accepted
from pytest_rlperf.store import pending
from tests.factories import a_stored

OLD = Accepted("it checks more", "2029", None, 0.3)
NEW = Accepted("", "2030", "a" * 40, 0.2)
TESTS = [a_stored(accepted=(OLD, NEW)), a_stored("test_b.py::test_b")]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def folder(project: Path) -> Path:
    return project / "baselines" / "machine" / "main"


def test_it_is_found_from_within_the_project(cache: Path, project: Path, folder: Path):
    pending.keep(cache, project, folder, "main", TESTS)
    for here in (project, project / "tests" / "perf"):
        (found,) = pending.find(cache, here)
        assert found == pending.Pending(project, folder, "main", tuple(TESTS))


def test_it_is_not_found_from_elsewhere(cache: Path, project: Path, folder: Path):
    pending.keep(cache, project, folder, "main", TESTS)
    assert pending.find(cache, project.parent) == []
    assert pending.find(cache, project.with_name("project-2")) == []


def test_keeping_it_touches_nothing_but_the_cache(cache: Path, project: Path, folder: Path):
    pending.keep(cache, project, folder, "main", TESTS)
    assert not project.exists()


def test_the_next_refused_save_takes_its_place(cache: Path, project: Path, folder: Path):
    pending.keep(cache, project, folder, "main", TESTS)
    pending.keep(cache, project, folder, "main", TESTS[:1])
    (found,) = pending.find(cache, project)
    assert found.tests == (TESTS[0],)


def test_saves_of_several_names_are_kept_apart(cache: Path, project: Path, folder: Path):
    for name in ("main", "nightly"):
        pending.keep(cache, project, folder.with_name(name), name, TESTS)
    pending.drop(cache, folder)
    assert [found.name for found in pending.find(cache, project)] == ["nightly"]


def test_what_is_not_there_can_be_dropped(cache: Path, folder: Path):
    pending.drop(cache, folder)
    assert pending.find(cache, folder) == []


def test_a_reason_is_given_to_what_has_none(cache: Path, project: Path, folder: Path):
    refused = pending.Pending(project, folder, "main", tuple(TESTS))
    slower, same = refused.with_reason("it must")
    assert [accepted.reason for accepted in slower.accepted] == ["it checks more", "it must"]
    assert same == TESTS[1]


@pytest.mark.parametrize("text", ["{", "[]", '{"root": 3}', "{}"])
def test_a_damaged_note_is_named(cache: Path, project: Path, folder: Path, text: str):
    pending.keep(cache, project, folder, "main", TESTS)
    (where,) = cache.rglob("where.json")
    where.write_text(text)
    with pytest.raises(UsageError, match=r"where\.json is .*; save again with --rlperf-save\."):
        pending.find(cache, project)
