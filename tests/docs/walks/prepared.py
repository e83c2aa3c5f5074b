"""Projects in which commands of the docs can be run: a repository, its remote, and tests."""

from tests.docs.markdown import ROOT
from tests.integration.fake_time import COMMON, FEW_BLOCKS
from tests.integration.projects import Project, Workshop

LIBRARY = "from fakeclock import tick\n\ndef work():\n    tick(1_000_000)\n"
TABULAR = """
import pytest
from mylib import work

@pytest.mark.rlperf(iterations=10)
@pytest.mark.parametrize("agent", ["list"])
def test_training_on_tictactoe(rlperf, agent):
    rlperf(work)
"""
REPLAY = """
import pytest
from mylib import work

@pytest.mark.rlperf(iterations=10)
def test_replay_gather(rlperf):
    rlperf(work)
"""
# The clock is fake and the reference kernels are not: only a coarse threshold holds there.
SETTINGS = "[pytest]\npythonpath = .\nrlperf_threshold = 300%\nrlperf_budget = 40\n"
FILES = {
    "mylib/__init__.py": LIBRARY,
    "tests/perf/test_tabular.py": TABULAR,
    "tests/perf/test_replay.py": REPLAY,
    "pytest.ini": SETTINGS,
    ".gitignore": "__pycache__\n*.json\nbuild\n!baselines/**\n",
}
REAL = f"import os\nimport sys\n\nCONTROLLER = '--rlperf' in sys.argv\n{FEW_BLOCKS}"
"""A conftest that leaves time as it is, and has no more patience than tests need."""


def prepared(workshop: Workshop, name: str) -> Project:
    """On main, one commit ahead of origin; this repository's Makefile beside it."""
    project = workshop.project(f"docs-{name}", {**FILES, **makefile()}, common=COMMON)
    project.commit({"README.md": "Two.\n"})
    project.add_remote()
    project.commit({"mylib/__init__.py": LIBRARY + "\n# as fast as before\n"})
    return project


def empty(workshop: Workshop, name: str) -> Project:
    """A folder in which somebody begins; time is real."""
    project = workshop.plain(f"docs-{name}")
    project.write({"conftest.py": REAL, ".gitignore": "__pycache__\n"})
    return project


def makefile() -> dict[str, str]:
    """This repository's, and the files that its environment hangs on."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return {"Makefile": text, "requirements/dev.lock": "", "pyproject.toml": ""}
