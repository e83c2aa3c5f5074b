"""`--rlperf-reached`: only the tests that the change can reach, and the others are named."""

import pytest

from .projects import Ended, Project, Workshop

BASE = {
    "reachable/__init__.py": "",
    "reachable/near.py": "from fakeclock import tick\n\ndef step():\n    tick(1_000_000)\n",
    "reachable/far.py": "from fakeclock import tick\n\ndef jump():\n    tick(1_000_000)\n",
    "tests/test_near.py": "from reachable.near import step\n\ndef test_step(rlperf):\n"
    "    rlperf(step)\n",
    "tests/test_far.py": "from reachable.far import jump\n\ndef test_jump(rlperf):\n"
    "    rlperf(jump)\n",
}
SLOWER = {"reachable/near.py": BASE["reachable/near.py"].replace("1_000", "1_500")}


def measure(project: Project, *args: str) -> Ended:
    return project.measure("--rlperf-reached", *args)


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return workshop.project("reached", BASE, SLOWER)


def test_only_tests_that_import_what_changed_are_measured_and_the_others_named(project: Project):
    ended = measure(project)
    assert ended.outcomes == {"test_step": "regressed"}
    assert ended.code == 1
    said = "rlperf: left out 1 test that the change does not reach, in tests/test_far.py."
    assert said in ended.text.splitlines()


def test_a_change_that_reaches_none_measures_nothing_and_passes(workshop: Workshop):
    project = workshop.project("reached-none", BASE, {"README.md": "Hello.\n"})
    ended = measure(project)
    assert (ended.code, ended.result) == (0, {})
    assert "left out 2 tests that the change does not reach, in " in ended.text
    assert "NOTHING WAS COMPARED" not in ended.text


def test_where_imports_cannot_be_told_all_tests_run_and_a_line_says_so(workshop: Workshop):
    broken = {"reachable/broken.py": "def (", **SLOWER}
    ended = measure(workshop.project("reached-unknown", BASE, broken))
    assert set(ended.outcomes) == {"test_step", "test_jump"}
    assert "all performance tests run, since it is not known which the change reaches" in ended.text


def test_it_needs_a_revision(project: Project):
    ended = project.refuse("--rlperf", "--rlperf-reached")
    assert ended.code == 4
    assert "--rlperf-reached needs --rlperf-against" in ended.text
