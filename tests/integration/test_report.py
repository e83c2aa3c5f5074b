"""`--rlperf-report` and GitHub Actions: what a run leaves for people to read."""

import json
import re
from pathlib import Path

import pytest

from pytest_rlperf.cli import main

from .projects import Ended, Workshop

LIBRARY = """
from fakeclock import tick

def learn():
    tick({ns})
"""
TESTS = """
import pytest
from lib import learn

@pytest.mark.parametrize("game", ["a|b", "`x`"])
def test_learn(rlperf, game):
    rlperf(learn)
"""
BASE = {"lib.py": LIBRARY.format(ns=1_000_000), "test_perf.py": TESTS}
HEAD = {"lib.py": LIBRARY.format(ns=1_300_000)}


@pytest.fixture(scope="module")
def slower(workshop: Workshop) -> Ended:
    """On GitHub, with a report, on a head that is 30 % slower."""
    project = workshop.project("report", BASE, HEAD)
    summary = project.folder.parent / "summary.md"
    github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(project.folder),
    }
    return project.measure("--rlperf-report=new/report", env=github)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_folder_is_made_and_holds_the_report_for_people_and_for_programs(slower: Ended):
    assert slower.code == 1
    folder = slower.folder / "new" / "report"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["report.html", "report.json", "report.md"]
    assert json.loads(text_of(folder / "report.json")) == slower.result


def test_the_parts_of_the_cost_are_all_the_seconds_of_the_run(slower: Ended):
    result = slower.result
    cost = result["cost"]
    assert sum(cost.values()) == pytest.approx(result["seconds"], abs=0.01)
    assert min(cost["preparing"], cost["workers"]) > 0
    for part in ("scouting", "fixtures", "warmup", "waiting", "slices"):
        of_tests = sum(test["cost"][part] for test in result["tests"])
        assert cost[part] == pytest.approx(of_tests, abs=0.01)
        assert of_tests > 0
    assert f"the {result['seconds']:.0f} s went to: " in slower.text


def test_the_report_names_what_was_compared_and_the_regressions(slower: Ended):
    report = text_of(slower.folder / "new" / "report" / "report.md")
    assert report.startswith("## Performance: 2 regressed\n")
    assert re.search(r"against base \(\w+\): \*\*2 of 2 tests slower than allowed\.\*\*", report)
    assert report.count("| **REGRESSED** | +30.0 %") == 2
    assert report.count("\n  repeat: pytest ") == 2


def test_the_page_names_the_regressions_and_tells_the_same_as_from_the_result(slower: Ended):
    folder = slower.folder / "new" / "report"
    page = text_of(folder / "report.html")
    assert "<h1>2 of 2 tests slower than allowed.</h1>" in page
    assert page.count('data-outcome="regressed"') == 2
    again = slower.folder.parent / "again"
    assert main(["report", str(folder / "report.json"), "--out", str(again)]) == 0
    assert text_of(again / "report.html") == page
    assert text_of(again / "report.md") == text_of(folder / "report.md")


def test_the_summary_of_the_job_is_the_same_report(slower: Ended):
    report = text_of(slower.folder / "new" / "report" / "report.md")
    assert text_of(slower.folder.parent / "summary.md") == report


def test_each_regression_is_annotated_at_its_test(slower: Ended):
    lines = [line for line in slower.text.splitlines() if line.startswith("::error ")]
    assert len(lines) == 2
    for line in lines:
        assert line.startswith(
            "::error file=test_perf.py,line=5,title=Slower%3A test_perf.py%3A%3A"
        )
        assert "%0A  repeat: pytest " in line


def test_outside_of_github_nothing_is_annotated(outcomes: Ended):
    assert "regressed" in outcomes.outcomes.values()
    assert "::error" not in outcomes.text


def test_a_file_is_no_folder(workshop: Workshop):
    project = workshop.project("report-is-file", {"test_a.py": ""})
    ended = project.refuse("--rlperf", "--rlperf-report=test_a.py")
    assert ended.code == 4
    assert "test_a.py is a file; name a folder." in ended.text
