"""From runs of a project's commits to its trend: what each of them let pass adds up."""

import pytest

from .projects import Project, Workshop
from .stored import library, rlperf

COMMITS = 8
TESTS = """
import lib

def test_work(rlperf):
    rlperf(lib.work)
"""


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    """Every commit makes the test two percent slower, and is measured against the one before."""
    project = workshop.project("trend", {"lib.py": library(), "tests/test_perf.py": TESTS})
    for number in range(1, COMMITS + 1):
        project.commit({"lib.py": library(1.02**number)})
        ended = project.measure(against="HEAD~1")
        assert (ended.code, ended.outcomes) == (0, {"test_work": "unchanged"})
        done = rlperf(project, "history", "append", str(project.result))
        assert done.returncode == 0, done.stderr
    return project


def test_a_creep_is_reported_although_each_commit_passed(project: Project):
    done = rlperf(project, "trend")
    assert done.returncode == 0, done.stderr
    base = project.git("rev-parse", "base")[:7]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("CREEP")]
    assert line.startswith("CREEP: tests/test_perf.py::test_work +17.")
    assert f"over {COMMITS} commits since {base}, and +5.0 % is allowed of one change" in line


def test_the_project_is_as_clean_as_before(project: Project):
    assert project.git("status", "--porcelain") == ""
    assert project.git("rev-parse", "--abbrev-ref", "HEAD") == "main"
