"""`--rlperf-category` narrows a run, may repeat, and knows what there is."""

import pytest

from .projects import Project, Workshop

TESTS = """
import pytest

@pytest.mark.rlperf(category="env")
def test_env(rlperf):
    pytest.skip("selected")

@pytest.mark.rlperf(category="replay")
def test_replay(rlperf):
    pytest.skip("selected")

@pytest.mark.rlperf(category="training")
def test_training(rlperf):
    pytest.skip("selected")

def test_none(rlperf):
    pytest.skip("selected")
"""


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return workshop.project("category", {"tests/test_perf.py": TESTS})


def test_it_may_repeat(project: Project):
    ended = project.run("--rlperf", "--rlperf-category=env", "--rlperf-category=replay")
    assert list(ended.outcomes) == ["test_env", "test_replay"]
    assert "2 deselected" in ended.text


def test_its_ini_twin_is_a_list(project: Project):
    ended = project.run("--rlperf", "-o", "rlperf_category=env training")
    assert list(ended.outcomes) == ["test_env", "test_training"]


def test_without_it_all_are_run(project: Project):
    assert len(project.run("--rlperf").outcomes) == 4


def test_an_unknown_category_is_refused_with_the_known_ones(project: Project):
    ended = project.refuse("--rlperf", "--rlperf-category=zzz")
    assert ended.code == 4
    assert (
        "ERROR: rlperf: no selected test has the category 'zzz'; there are env, replay, training."
        in ended.text.splitlines()
    )


def test_a_category_misspelt_is_refused_with_the_nearest(project: Project):
    ended = project.refuse("--rlperf", "--rlperf-category=trainig")
    assert ended.code == 4
    assert "no selected test has the category 'trainig'; did you mean 'training'?" in ended.text


def test_where_no_test_has_a_category_it_says_so(workshop: Workshop):
    project = workshop.project("no-category", {"test_a.py": "def test_a(rlperf): rlperf(int)\n"})
    ended = project.refuse("--rlperf", "--rlperf-category=env")
    assert ended.code == 4
    assert (
        "no selected test has the category 'env'; none has one, so mark some with "
        "@pytest.mark.rlperf(category=...)." in ended.text
    )
