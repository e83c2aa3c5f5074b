"""The commands of the docs, run: each page in a project of its own, from top to bottom.

Those that measure for minutes are begun, and with less to do they end well.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.commands import Command
from tests.docs.elsewhere import SHORTENED
from tests.docs.markdown import ROOT, read_page
from tests.docs.walks.page_walk import run, walk
from tests.docs.walks.prepared import empty, prepared
from tests.integration.projects import Workshop

PAGES = (
    "README.md",
    "docs/asv.md",
    "docs/baselines.md",
    "docs/ci.md",
    "docs/pytest-benchmark.md",
    "docs/reports.md",
    "docs/shape.md",
    "docs/trends.md",
)
IN_SENTENCES = (
    "pytest",
    "pytest --rlperf --rlperf-against=HEAD",
    "pytest --rlperf --rlperf-against=main",
    "pytest --rlperf --rlperf-against=main --rlperf-threshold=5%",
    "pytest --rlperf --rlperf-against=main...",
    'make perf ARGS="--rlperf-against=HEAD"',
    "pytest --rlperf --rlperf-against=main... --rlperf-report=DIR",
    "rlperf doctor",
    "rlperf init",
    "rlperf install-hook",
    'mpiexec -n 2 python -c "import mpi4py.MPI, numpy"',
)
"""Those that need nothing but a project."""
INI_OF_SHOWN = "[pytest]\npythonpath = .\n"
BUFFER = """
class ReplayBuffer:
    def __init__(self, rows):
        self.rows = rows

    @classmethod
    def filled(cls, size):
        return cls(list(range(size)))

    def sample(self, number):
        return self.rows[:number]
"""


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_end_as_it_says(workshop: Workshop, name: str):
    assert walk(prepared(workshop, name.replace("/", "-")), read_page(name))


@pytest.mark.parametrize("name", ["README.md", "docs/writing-tests.md"])
def test_the_test_that_a_page_shows_is_one(workshop: Workshop, name: str):
    page = read_page(name)
    (block,) = [each for each in page.blocks if "def test_sample(rlperf)" in each.text]
    project = empty(workshop, f"shown-{name.replace('/', '-')}")
    project.write({"mylib.py": BUFFER, "test_buffer.py": block.text, "pytest.ini": INI_OF_SHOWN})
    ended = run(project, Command("pytest test_buffer.py"))
    assert ended.code == 0, ended.text
    assert "1 passed" in ended.text


def test_whoever_follows_the_first_steps_sees_a_regression_and_then_none(workshop: Workshop):
    walked = walk(empty(workshop, "start"), read_page("docs/start.md"))
    slower, back = (each for each in walked if "--rlperf-against" in each.command.text)
    assert "REGRESSED" in slower.text
    assert "REGRESSED" not in back.text


def test_the_example_with_gymnasium_runs_as_it_stands(workshop: Workshop):
    page = read_page("docs/your-library.md")
    walked = walk(empty(workshop, "gymnasium"), page, "A Gymnasium environment")
    assert "REGRESSED" in walked[-1].text
    assert "environment_step" in walked[-1].text


def test_commands_in_sentences_that_need_only_a_project_run(workshop: Workshop):
    project = prepared(workshop, "sentences")
    for text in IN_SENTENCES:
        ended = run(project, Command(text))
        assert ended.code == 0, f"{text}\n{ended.text}"


@pytest.mark.parametrize("text", SHORTENED)
def test_what_takes_long_can_be_begun(text: str, tmp_path: Path):
    assert SHORTENED[text].split()[:3] == text.split()[:3]
    command = SHORTENED[text].replace("{folder}", str(tmp_path))
    done = subprocess.run(
        [sys.executable, *command.split()[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
