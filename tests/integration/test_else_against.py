"""`--rlperf-else-against`: the revision to compare with where this machine has no baseline."""

import shutil

import pytest

from .projects import Ended, Project, Workshop
from .stored import COARSE, coarse, compare, library, make_foreign, new_project, save

ELSE = "--rlperf-else-against=HEAD"
NO_OWN = "no stored baseline of this machine"


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    """The working tree is twice as slow as its commit."""
    project = new_project(workshop, "else-against")
    project.write({"lib.py": library(2)})
    return project


@pytest.fixture(scope="module")
def instead(project: Project) -> Ended:
    return project.run("--rlperf", "-o", "rlperf_else_against=HEAD")


@pytest.fixture(scope="module")
def beside_foreign(project: Project, instead: Ended) -> Ended:
    """There is a baseline, of another machine."""
    assert compare(project, ELSE, "--rlperf-save").code == 0
    make_foreign(project, family="of old")
    return project.run("--rlperf", ELSE, "tests/test_perf.py::test_work")


def test_without_a_baseline_the_revision_is_compared_with(instead: Ended):
    assert instead.outcomes == {"test_work": "regressed", "test_other": "unchanged"}
    assert instead.code == 1
    assert instead.metric("test_work")["change"] == pytest.approx(1.0, rel=0.01)
    assert instead.result["mode"] == "against"


def test_header_and_notice_say_so(instead: Ended, project: Project):
    label = f"HEAD ({project.git('rev-parse', '--short=7', 'HEAD')})"
    assert instead.result["against"] == label
    assert f"rlperf: {NO_OWN}: against {label}, allowed +5.0 %" in instead.text
    assert (
        f"rlperf: {NO_OWN}: compared with {label} instead; pytest --rlperf --rlperf-save saves "
        "one here." in instead.text.splitlines()
    )


def test_a_baseline_of_another_machine_is_none(beside_foreign: Ended):
    assert beside_foreign.outcomes == {"test_work": "regressed"}
    assert beside_foreign.result["mode"] == "against"


def test_what_was_named_comes_first(project: Project, beside_foreign: Ended):
    named = compare(project, ELSE, "--rlperf-baseline=main")
    assert set(named.outcomes.values()) == {"incomparable"}
    assert NO_OWN not in named.text


def test_a_baseline_of_this_machine_comes_first(project: Project, beside_foreign: Ended):
    saved = save(project, ELSE)
    assert saved.result["mode"] == "save"
    ended = compare(project, ELSE)
    assert set(coarse(ended).values()) == {"passed"}
    assert ended.result["against"] == "baseline 'main'"
    assert NO_OWN not in ended.text


@pytest.mark.parametrize(
    ("ref", "said"),
    [("HEAD", "is in no git repository"), ("nowhere", "The revision 'nowhere' is not in this")],
)
def test_where_there_is_no_such_revision_the_run_goes_on_without(
    workshop: Workshop, ref: str, said: str
):
    project = new_project(workshop, f"else-without-{ref}")
    if ref == "HEAD":
        shutil.rmtree(project.folder / ".git")
    ended = project.run("--rlperf", COARSE, f"--rlperf-else-against={ref}")
    assert ended.code == 0
    assert set(ended.outcomes.values()) == {"no_baseline"}
    (line,) = [line for line in ended.text.splitlines() if NO_OWN in line]
    assert line.startswith(f"rlperf: {NO_OWN}, nor can {ref} be compared with instead: ")
    assert said in line
