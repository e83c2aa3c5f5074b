"""`rlperf_build` builds both trees; what it made is what each side imports."""

from pathlib import Path

import pytest

from .fake_time import COMMON
from .projects import Ended, Project, Workshop

MAKE = """
import pathlib

speed = pathlib.Path("speed.txt").read_text()
pathlib.Path("lib/_built.py").write_text(f"SPEED_NS = {speed}")
print("built", speed)
"""
TESTS = """
import lib

def test_work(rlperf):
    rlperf(lib.work)
"""


BASE = {
    "lib/__init__.py": (
        "from fakeclock import tick\nfrom lib._built import SPEED_NS\n\n"
        "def work():\n    tick(SPEED_NS)\n"
    ),
    "make.py": MAKE,
    "speed.txt": "1_000_000",
    "pytest.ini": "[pytest]\nrlperf_build = python make.py\n",
    ".gitignore": COMMON[".gitignore"] + "_built.py\n",
}


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    head = {
        "tests/test_perf.py": TESTS,
        "speed.txt": "2_000_000",
        "lib/_built.py": "SPEED_NS = 3_000_000",  # older than its source
    }
    return workshop.project("build", BASE, head)


@pytest.fixture(scope="module")
def built(project: Project) -> Ended:
    return project.measure()


def test_each_side_runs_what_was_built_for_it(built: Ended):
    metric = built.metric("test_work")
    assert metric["value"] == pytest.approx(2e6, rel=0.002)
    assert metric["base_value"] == pytest.approx(1e6, rel=0.002)


def test_the_working_tree_is_built_too(built: Ended, project: Project):
    assert (project.folder / "lib/_built.py").read_text() == "SPEED_NS = 2_000_000"


def test_a_tree_in_which_nothing_is_built_yet_is_built_before_its_tests_are_imported(
    workshop: Workshop,
):
    head = {"tests/test_perf.py": TESTS, "speed.txt": "2_000_000"}
    fresh = workshop.project("unbuilt", BASE, head)
    ended = fresh.measure()
    assert ended.metric("test_work")["value"] == pytest.approx(2e6, rel=0.002)


def test_a_run_without_a_revision_builds_the_working_tree_too(workshop: Workshop):
    ended = workshop.project("build-plain", {**BASE, "tests/test_perf.py": TESTS}).run("--rlperf")
    assert ended.metric("test_work")["value"] == pytest.approx(1e6, rel=0.002)


def test_the_base_tree_lies_in_the_cache(built: Ended, project: Project):
    imported = Path(built.test("test_work")["imported"]["base"]["lib"])
    assert imported.is_relative_to(project.cache)
    assert (imported.parent / "_built.py").read_text() == "SPEED_NS = 1_000_000"


def test_a_build_that_fails_shows_its_command_and_output(project: Project):
    command = f'test "$RLPERF_TREE" = "{project.folder}" || {{ echo no compiler; exit 3; }}'
    ended = project.refuse("--rlperf", "--rlperf-against=base", "-o", f"rlperf_build={command}")
    assert ended.code == 4
    assert f" with rlperf_build ({command}) ended with status 3; repair the command" in ended.text
    assert f"ERROR: rlperf: Building {project.cache}" in ended.text
    assert "no compiler" in ended.text.splitlines()
    assert "Traceback" not in ended.text


def test_a_build_that_fails_at_head_only_names_the_working_tree(project: Project):
    command = f'test "$RLPERF_TREE" != "{project.folder}"'
    ended = project.refuse("--rlperf", "--rlperf-against=base", "-o", f"rlperf_build={command}")
    assert ended.code == 4
    assert f"ERROR: rlperf: Building {project.folder} with rlperf_build" in ended.text
    assert "Traceback" not in ended.text
