"""Where a project lies in its repository, and what head's own copy must not do to the base.

Flat and `src` layouts are those of the outcomes and of `test_against.py`.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from .fake_time import BLOCK_BUDGET, COMMON, CONFTEST
from .projects import Ended, Workshop

LIBRARY = "from fakeclock import tick\n\ndef work():\n    tick({ns})\n"
TESTS = "import lib\n\ndef test_work(rlperf):\n    rlperf(lib.work)\n"


@pytest.fixture(scope="module")
def below(workshop: Workshop) -> Ended:
    """A project in a folder of its repository, measured from its test folder."""
    base = {
        "python/lib.py": LIBRARY.format(ns=1_000_000),
        "python/fakeclock.py": COMMON["fakeclock.py"],
        "python/pytest.ini": "[pytest]\n",
        "python/conftest.py": "",
        "python/tests/test_perf.py": "",
        ".gitignore": "__pycache__\n",
        "README": "",
    }
    head = {
        "python/lib.py": LIBRARY.format(ns=2_000_000),
        "python/conftest.py": (CONFTEST + BLOCK_BUDGET).replace(
            'os.environ["INTEGRATION_PROJECT"]', 'os.environ["INTEGRATION_PROJECT"] + "/python"'
        ),
        "python/tests/test_perf.py": TESTS,
    }
    project = workshop.project("below", base, head, common={})
    return replace(project, cwd="python/tests").measure("--rlperf-budget=6")


def test_a_project_below_the_top_of_its_repository_is_compared(below: Ended):
    metric = below.metric("test_work")
    assert metric["value"] == pytest.approx(2e6, rel=0.002)
    assert metric["base_value"] == pytest.approx(1e6, rel=0.002)


def test_a_large_regression_is_called_in_a_short_run(below: Ended):
    metric = below.metric("test_work")
    assert metric["blocks"] < 8
    assert metric["outcome"] == "regressed"
    assert metric["reason"] == "slower than the allowed +5.0 %, beyond doubt"
    assert below.code == 1


def test_its_base_is_the_same_folder_of_the_base_tree(below: Ended):
    imported = below.test("test_work")["imported"]["base"]
    assert Path(imported["lib"]).parent.name == "python"
    assert not Path(imported["lib"]).is_relative_to(below.folder)


def test_a_base_that_is_made_to_run_heads_code_is_refused(workshop: Workshop):
    loader = """
import importlib.util
import os
import sys

path = os.path.join(os.environ["INTEGRATION_PROJECT"], "lib.py")
spec = importlib.util.spec_from_file_location("lib", path)
sys.modules["lib"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["lib"])
"""
    base = {"lib.py": LIBRARY.format(ns=1_000_000)}
    head = {"conftest.py": CONFTEST + loader, "tests/test_perf.py": TESTS}
    ended = workshop.project("wrong-copy", base, head).measure()
    assert ended.code == 1
    shown = ended.section("test_work")
    assert f"lib was imported from {ended.folder / 'lib.py'} instead of " in shown
    assert "so this side did not measure its own code: remove what puts" in shown


def test_a_benchmark_that_does_not_import_at_head_stops_the_run(workshop: Workshop):
    files = {"tests/test_perf.py": "import nowhere\n"}
    ended = workshop.project("collect-error", files).measure()
    assert ended.code == 2
    assert "No module named 'nowhere'" in ended.text
    assert "INTERNALERROR" not in ended.text


def test_collecting_only_measures_nothing(workshop: Workshop):
    files = {"tests/test_perf.py": "def test_work(rlperf): rlperf(int)\n"}
    ended = workshop.project("collect-only", files).measure("--collect-only", "-q")
    assert ended.code == 0
    assert "tests/test_perf.py::test_work" in ended.text
