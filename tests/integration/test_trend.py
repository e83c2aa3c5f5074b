"""The trend of a project, from real runs of its commits."""

import json

import pytest

from .projects import Project, Workshop
from .stored import library, rlperf

COMMITS = 3
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
        report = f"--rlperf-report={project.folder.parent / 'trend-report'}"
        ended = project.measure(report, against="HEAD~1")
        assert (ended.code, ended.outcomes) == (0, {"test_work": "slower"})
        done = rlperf(project, "history", "append", str(project.result))
        assert done.returncode == 0, done.stderr
    return project


def test_what_each_commit_let_pass_adds_up(project: Project):
    done = rlperf(project, "trend", "--json")
    assert done.returncode == 0, done.stderr
    (trend,) = json.loads(done.stdout)["trends"]
    assert trend["nodeid"] == "tests/test_perf.py::test_work"
    assert trend["points"][-1]["level"] == pytest.approx(1.02 ** (COMMITS - 1) - 1, abs=0.005)


def test_the_report_of_a_run_draws_what_was_appended_before(project: Project):
    page = (project.folder.parent / "trend-report" / "report.html").read_text(encoding="utf-8")
    assert '<section id="trends">' in page
    assert "tests/test_perf.py::test_work, time: last 3 against earlier" in page


def test_the_project_is_as_clean_as_before(project: Project):
    assert project.git("status", "--porcelain") == ""
    assert project.git("rev-parse", "--abbrev-ref", "HEAD") == "main"
