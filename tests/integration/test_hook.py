"""A `git push` with the hook of `rlperf install-hook`: real repositories, a real push."""

import sys

import pytest

from .fake_time import BLOCK_BUDGET, CONFTEST
from .projects import NO_CACHE, OWN_PLUGIN, Ended, Project, Workshop

FILES = {
    "conftest.py": CONFTEST + BLOCK_BUDGET,
    "hooked/__init__.py": "",
    "hooked/steps.py": "from fakeclock import tick\n\ndef step():\n    tick(1_000_000)\n",
    "hooked/other.py": "from fakeclock import tick\n\ndef jump():\n    tick(1_000_000)\n",
    "tests/test_steps.py": "from hooked.steps import step\n\ndef test_step(rlperf):\n"
    "    rlperf(step)\n",
    "tests/test_other.py": "from hooked.other import jump\n\ndef test_jump(rlperf):\n"
    "    rlperf(jump)\n",
}
RLPERF = (sys.executable, "-m", "pytest_rlperf.cli")


@pytest.fixture
def project(workshop: Workshop, request: pytest.FixtureRequest) -> Project:
    """A clone with the hook, at what the remote has."""
    project = workshop.project(f"hook-{request.node.name}", FILES)
    project.add_remote()
    words = ("install-hook", "--budget=8", "--", *OWN_PLUGIN, *NO_CACHE)
    assert project.start_command([*RLPERF, *words]).wait().code == 0
    return project


def push(project: Project, *words: str) -> Ended:
    return project.start_command(["git", "push", *words]).wait()


def is_pushed(project: Project) -> bool:
    return project.git("rev-parse", "main") == project.git("ls-remote", "origin", "main").split()[0]


def test_a_slower_commit_is_stopped_and_the_tests_left_out_are_named(project: Project):
    project.commit({"hooked/steps.py": FILES["hooked/steps.py"].replace("1_000", "1_500")})
    ended = push(project)
    assert ended.code != 0
    assert not is_pushed(project)
    assert "REGRESSED" in ended.section("test_step")
    assert "left out 1 test that the change does not reach, in tests/test_other.py." in ended.text
    assert "rlperf: the push was stopped; `git push --no-verify` pushes all the same." in ended.text
    assert push(project, "--no-verify").code == 0
    assert is_pushed(project)


def test_a_commit_that_reaches_no_test_is_pushed_without_measuring(project: Project):
    project.commit({"README.md": "Hello.\n"})
    ended = push(project)
    assert ended.code == 0, ended.text
    assert is_pushed(project)
    assert "left out 2 tests that the change does not reach" in ended.text


def test_the_commit_is_what_is_measured_not_the_edits_after_it(project: Project):
    project.commit({"hooked/steps.py": FILES["hooked/steps.py"] + "\n# as fast as before\n"})
    project.write({"hooked/steps.py": FILES["hooked/steps.py"].replace("1_000", "1_500")})
    ended = push(project)
    assert ended.code == 0, ended.text
    assert "1 unchanged" in ended.text
