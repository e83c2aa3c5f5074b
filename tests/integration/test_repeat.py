"""The command that measures one test again, from the folder and with the options of this run."""

import shlex
from dataclasses import replace

import pytest

from .projects import Project, Workshop

TESTS = """
import pytest

@pytest.mark.parametrize("game", ["pong", "a b"])
def test_rollout(rlperf, game):
    pytest.skip("not measured")

def test_learn(rlperf):
    pytest.skip("not measured")
"""
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--device", default="cpu")
"""


@pytest.fixture(scope="module")
def above(workshop: Workshop) -> Project:
    """Started in the folder above the root of the project."""
    files = {"tests/test_perf.py": TESTS, "conftest.py": CONFTEST, "pytest.ini": "[pytest]\n"}
    return replace(workshop.project("repeat", files, common={}), cwd="..")


@pytest.fixture(scope="module")
def command(above: Project) -> list[str]:
    chosen = ("-k", "rollout and not pong", "project/tests", "--device", "cuda:1")
    ended = above.run("--rlperf", *chosen, "--rlperf-budget=60")
    assert "rootdir: " + str(above.folder) in ended.text.splitlines()
    (test,) = ended.result["tests"]
    return shlex.split(test["repeat_command"])


def test_it_names_the_test_from_where_pytest_was_started(command: list[str]):
    assert command[0] == "pytest"
    assert command[-1] == "project/tests/test_perf.py::test_rollout[a b]"
    assert "project/tests" not in command


def test_it_keeps_the_other_options(command: list[str]):
    words = shlex.join(command)
    assert "--rlperf -k 'rollout and not pong' --device cuda:1 --rlperf-budget=60" in words


def test_it_selects_this_test_alone(above: Project, command: list[str]):
    ended = above.start(*command[1:], "--collect-only", "-q").wait()
    assert ended.code == 0, ended.text
    found = [line for line in ended.text.splitlines() if "::" in line]
    assert found == ["tests/test_perf.py::test_rollout[a b]"]
