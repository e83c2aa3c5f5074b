"""`rlperf bisect`: real repositories, a fake clock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .projects import OWN_PLUGIN, Project, Workshop

LIBRARY = "from fakeclock import tick\n\ndef work():\n    tick({ns})\n"
TESTS = "import lib\n\ndef test_work(rlperf):\n    rlperf(lib.work)\n"
TEST = "tests/test_perf.py::test_work"


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    """Slower by half in the fourth of six commits; the third cannot even be imported."""
    project = workshop.project("bisect", {"lib.py": LIBRARY.format(ns=1_000_000)})
    for number, text in enumerate(
        [
            LIBRARY.format(ns=1_000_100),
            "raise RuntimeError('half a commit')\n",
            LIBRARY.format(ns=1_500_000),
            LIBRARY.format(ns=1_500_100),
            LIBRARY.format(ns=1_500_200),
        ],
        start=2,
    ):
        project.commit({"lib.py": text})
        project.git("tag", f"c{number}")
    # Written after all of them: the test of the working tree measures every commit.
    project.write({"tests/test_perf.py": TESTS})
    return project


def bisect(project: Project, *args: str) -> "subprocess.CompletedProcess[str]":
    run = project._new_run()
    return subprocess.run(
        [sys.executable, "-m", "pytest_rlperf.cli", "bisect", *args],
        cwd=project.folder,
        env={**project._environment(run), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_commit_that_made_it_slower_is_found(project: Project):
    done = bisect(project, "base", "c6", "--", TEST, *OWN_PLUGIN)
    assert done.returncode == 1, done.stderr  # the broken commit borders on it
    culprit, broken = (project.git("rev-parse", "--short=7", tag) for tag in ("c4", "c3"))
    said = done.stdout.split("\n\n")[1].splitlines()
    assert said[0] == ("One of these made it slower; those before the last could not be measured:")
    assert [line.split()[0] for line in said[1:]] == [broken, culprit]


def test_where_bad_is_not_slower_there_is_nothing_to_find(project: Project):
    done = bisect(project, "c5", "c6", "--", TEST, *OWN_PLUGIN)
    assert done.returncode == 4
    [line] = done.stderr.splitlines()
    assert line.startswith("rlperf: c6 is not slower than c5 by more than +5.0 % (")
    assert line.endswith("; there is no commit to find.")


def test_each_duet_is_told_with_what_it_read(workshop: Workshop):
    project = workshop.project("bisect-plain", {"lib.py": LIBRARY.format(ns=1_000_000)})
    for ns in (1_300_000, 1_300_100):
        project.commit({"lib.py": LIBRARY.format(ns=ns)})
    project.write({"tests/test_perf.py": TESTS})
    done = bisect(project, "base", "HEAD", "--", TEST, *OWN_PLUGIN)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("slow    +30.0 % [")
    culprit = project.git("rev-parse", "--short=7", "HEAD~1")
    assert lines[-2] == f"{culprit} change"
    assert lines[-1].startswith("is the commit that made it slower: +30.0 % [")
    assert project.git("status", "--porcelain") == "?? tests/"


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("c6", "base", "they stand in reverse order: the older one comes first."),
        ("base", "base", "base and base are the same commit; give an older good one."),
        ("nowhere", "c6", "The revision 'nowhere' is not in this repository; "),
    ],
)
def test_ends_without_a_way_between_them_are_refused(
    project: Project, good: str, bad: str, sentence: str
):
    done = bisect(project, good, bad, "--", TEST)
    assert done.returncode == 4
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_good_commit_of_another_branch_is_refused(workshop: Workshop):
    project = workshop.project("bisect-branches", {"lib.py": ""})
    project.git("switch", "--quiet", "-c", "other")
    project.commit({"lib.py": "1\n"})
    project.git("switch", "--quiet", "main")
    project.commit({"lib.py": "2\n"})
    done = bisect(project, "other", "main", "--", TEST)
    fork = project.git("rev-parse", "--short=7", "base")
    assert done.returncode == 4
    assert done.stderr == (
        "rlperf: other is not an ancestor of main, so no commit lies between them; begin with "
        f"where they parted: {fork}.\n"
    )


@pytest.mark.parametrize("nodeid", ["tests/test_perf.py::test_gone", "tests/gone.py"])
def test_a_test_that_is_not_there_is_one_clear_line(project: Project, nodeid: str):
    done = bisect(project, "base", "c6", "--", nodeid, *OWN_PLUGIN)
    assert done.returncode == 4
    [line] = done.stderr.splitlines()
    assert line.startswith(f"rlperf: {nodeid} cannot be measured: ")
    assert "not found" in line


def test_a_module_is_no_single_test(project: Project, tmp_path: Path):
    two = TESTS + "\ndef test_other(rlperf):\n    rlperf(lib.work)\n"
    project.write({"tests/test_two.py": two})
    done = bisect(project, "base", "c2", "--", "tests/test_two.py", *OWN_PLUGIN)
    assert done.returncode == 4
    assert "names 2 performance tests; a bisection looks at one, such as" in done.stderr


def test_a_revision_can_be_measured_instead_of_the_working_tree(project: Project):
    ended = project.measure("--rlperf-head=c6", "--rlperf-profile=off", TEST)
    assert ended.outcomes == {"test_work": "regressed"}
    assert ended.result["commit"] == project.git("rev-parse", "c6")
    assert ended.result["dirty"] is False
    assert not Path(ended.test("test_work")["imported"]["head"]["lib"]).is_relative_to(
        project.folder
    )


def test_a_head_without_something_to_compare_with_is_refused(project: Project):
    ended = project.refuse("--rlperf", "--rlperf-head=c6")
    assert ended.code == 4
    assert (
        "ERROR: rlperf: --rlperf-head=c6 needs --rlperf-against to compare it with." in ended.text
    )
