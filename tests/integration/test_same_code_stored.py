"""What runs the code that its stored baseline was saved of is not measured again."""

import time

import pytest

from .fake_time import COMMON
from .projects import Project, Workshop
from .stored import TESTS, compare, library, new_project, save, stored

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


SIZES = """
import os
import pytest

SIZE = 1

def pytest_addoption(parser):
    parser.addoption("--size", default="1")

@pytest.fixture
def size(request):
    return SIZE * int(request.config.getoption("--size")) * int(os.environ.get("SIZE", "1"))
"""
SIZED = """
from pathlib import Path

import pytest
from fakeclock import tick
from lib import MS

@pytest.mark.rlperf(iterations=10)
def test_sized(rlperf, size):
    rlperf(lambda: tick(size * MS))

@pytest.mark.rlperf(iterations=10)
def test_reading(rlperf):
    size = int(Path(__file__).with_name("size.txt").read_text())
    rlperf(lambda: tick(size * MS))
"""
SURROUNDED = {
    "conftest.py": COMMON["conftest.py"] + SIZES,
    "tests/conftest.py": "",
    "tests/test_perf.py": SIZED,
    "tests/size.txt": "1",
    ".gitignore": "__pycache__\ntests/size.txt\n",
}


@pytest.fixture(scope="module")
def surrounded(workshop: Workshop) -> Project:
    """A project whose tests depend on more than its code."""
    project = new_project(workshop, "same-surrounded", {"pytest.ini": INI, **SURROUNDED})
    assert save(project).code == 0
    committed(project, "Save baselines")
    return project


def test_a_conftest_that_another_one_hides_is_seen(surrounded: Project):
    surrounded.write(
        {"conftest.py": SURROUNDED["conftest.py"].replace("SIZE = 1\n", "SIZE = 20\n")}
    )
    assert compare(surrounded).outcomes["test_sized"] == "regressed"
    surrounded.git("checkout", "-q", ".")
    assert compare(surrounded).outcomes["test_sized"] == "same_code"


def test_a_variable_that_the_project_names_is_seen(
    surrounded: Project, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIZE", "20")
    assert compare(surrounded).outcomes["test_sized"] == "regressed"


def test_an_option_of_pytest_is_seen(surrounded: Project):
    assert compare(surrounded, "--size=20").outcomes["test_sized"] == "regressed"


def test_a_file_that_git_ignores_is_seen(surrounded: Project):
    surrounded.write({"tests/size.txt": "20"})
    outcomes = compare(surrounded).outcomes
    assert outcomes == {"test_sized": "same_code", "test_reading": "regressed"}


IMPORTING = """
import made, pytest
try:
    import fast as lib
except ImportError:
    import lib

@pytest.mark.rlperf(iterations=10, memory=True)
def test_work(rlperf):
    rlperf(lib.work)
"""


@pytest.fixture
def importing(workshop: Workshop, request: pytest.FixtureRequest) -> Project:
    files = {
        "fast.py": library(),
        "made.py": "",
        ".gitignore": "__pycache__\nmade.py\n",
        "tests/test_perf.py": IMPORTING,
        "pytest.ini": INI,
    }
    project = new_project(workshop, request.node.name, files)
    assert save(project).code == 0
    return project


def every_outcome(project: Project) -> set[str]:
    """Of time and of memory."""
    return {metric["outcome"] for metric in compare(project).test("test_work")["metrics"]}


def test_a_module_that_is_gone_lets_everything_be_measured(importing: Project):
    assert every_outcome(importing) == {"same_code"}
    (importing.folder / "fast.py").unlink()
    assert "same_code" not in every_outcome(importing)


def test_so_does_one_that_git_ignores_and_that_was_made_anew(importing: Project):
    time.sleep(1.1)  # a save is dated to the second
    importing.write({"made.py": ""})
    assert "same_code" not in every_outcome(importing)


def test_a_save_during_which_the_commit_changed_is_of_no_commit(workshop: Workshop):
    commits = (
        "import subprocess\nimport lib\n\n"
        "COMMIT = 'git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m x'\n\n"
        "def test_work(rlperf):\n    subprocess.run(COMMIT.split(), check=True)\n"
        "    rlperf(lib.work)\n"
    )
    project = new_project(workshop, "same-meanwhile", {"tests/test_perf.py": commits})
    assert save(project).code == 0
    (session,) = stored(project)["test_work"]["sessions"]
    assert session["dirty"]


def test_in_a_folder_of_a_larger_repository_changes_are_seen(workshop: Workshop):
    files = {**COMMON, "lib.py": library(), "tests/test_perf.py": TESTS, "pytest.ini": INI}
    project = workshop.project(
        "same-inner", {f"inner/{name}": text for name, text in files.items()}
    )
    inside = Project(project.folder, project.cache, "inner")
    assert save(inside).code == 0
    project.write({"inner/lib.py": library(20)})
    assert compare(inside).outcomes == {"test_work": "regressed", "test_other": "same_code"}
