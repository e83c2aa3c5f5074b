"""What runs the code that its stored baseline was saved of is not measured again."""

import pytest

from .fake_time import COMMON
from .projects import Project, Workshop
from .stored import TESTS, compare, library, new_project, save

INI = "[pytest]\n"
ALL_SAME = {"test_work": "same_code", "test_other": "same_code"}


def committed(project: Project, message: str) -> None:
    project.git("add", "-A")
    project.git("commit", "-qm", message)


@pytest.fixture(scope="module")
def saved(workshop: Workshop) -> Project:
    """A project whose baselines are committed, as they would be."""
    project = new_project(workshop, "same-stored", {"pytest.ini": INI})
    assert save(project).code == 0
    committed(project, "Save baselines")
    return project


@pytest.fixture
def project(saved: Project):
    yield saved
    saved.git("checkout", "-q", ".")


def test_unchanged_code_is_not_measured(project: Project):
    ended = compare(project)
    assert ended.code == 0
    assert ended.outcomes == ALL_SAME
    assert "2 tests run the same code: nothing changed" in ended.text
    assert ended.test("test_work")["blocks"] == []


def test_what_changed_is_measured_against_the_baseline(project: Project):
    project.write({"lib.py": library(other="tick(20 * MS)")})
    ended = compare(project)
    assert ended.code == 1
    assert ended.outcomes == {"test_work": "same_code", "test_other": "regressed"}
    assert ended.test("test_other")["differences"] == ["lib.py:other"]


def test_a_benchmark_whose_helper_changed_is_measured(project: Project):
    helped = TESTS.replace("rlperf(lib.other)", "rlperf(_other)")
    project.write({"tests/test_perf.py": f"{helped}\ndef _other():\n    lib.other()\n"})
    assert compare(project, "-k", "other").outcomes != {"test_other": "same_code"}


def test_in_a_folder_of_a_larger_repository_changes_are_seen(workshop: Workshop):
    files = {**COMMON, "lib.py": library(), "tests/test_perf.py": TESTS, "pytest.ini": INI}
    project = workshop.project(
        "same-inner", {f"inner/{name}": text for name, text in files.items()}
    )
    inside = Project(project.folder, project.cache, "inner")
    assert save(inside).code == 0
    project.write({"inner/lib.py": library(20)})
    assert compare(inside).outcomes == {"test_work": "regressed", "test_other": "same_code"}
