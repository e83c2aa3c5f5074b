"""`--rlperf-against`: an exact commit, or the merge base; head is the working tree as it is.

The project has a `src` layout, and helpers beside its benchmarks.
"""

from pathlib import Path

import pytest

from .fake_time import BLOCK_BUDGET, COMMON, CONFTEST, FEW_BLOCKS
from .projects import Ended, Project, Workshop

TESTS = """
import lib
from helpers import call

def test_work(rlperf):
    rlperf(call, lib.work)
"""


def library(ms: float) -> str:
    return f"from fakeclock import tick\n\ndef work():\n    tick({ms} * 1_000_000)\n"


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    """The fork took 1 ms, main has become slower since, the branch faster, its changes more so."""
    files = {
        "src/lib/__init__.py": library(1),
        "src/fakeclock.py": COMMON["fakeclock.py"],
        "benchmarks/conftest.py": CONFTEST + FEW_BLOCKS + BLOCK_BUDGET,
        "benchmarks/helpers.py": "def call(func):\n    return func() + 0\n",
        "pytest.ini": "[pytest]\npythonpath = src\ntestpaths = benchmarks\n",
        ".gitignore": "__pycache__\n",
    }
    project = workshop.project("against", files, common={})
    project.git("branch", "feature")
    project.commit({"src/lib/__init__.py": library(2)})
    project.git("switch", "--quiet", "feature")
    project.commit({"src/lib/__init__.py": library(0.9), "benchmarks/test_perf.py": TESTS})
    project.write(
        {
            "src/lib/__init__.py": library(0.5),
            "benchmarks/helpers.py": "def call(func):\n    return func()\n",
        }
    )
    return project


@pytest.fixture(scope="module")
def merge_base(project: Project) -> Ended:
    return project.measure(against="main...")


def test_three_dots_mean_the_merge_base(merge_base: Ended, project: Project):
    fork = project.git("rev-parse", "--short=7", "base")
    assert merge_base.result["against"] == f"merge base with main ({fork})"
    assert merge_base.metric("test_work")["base_value"] == pytest.approx(1e6, rel=0.002)


def test_head_is_the_working_tree_with_its_changes(merge_base: Ended):
    assert merge_base.metric("test_work")["value"] == pytest.approx(0.5e6, rel=0.002)
    assert merge_base.result["dirty"] is True


def test_an_improvement_exits_with_zero(merge_base: Ended):
    assert merge_base.outcomes == {"test_work": "improved"}
    assert merge_base.code == 0


def test_both_sides_use_heads_benchmarks_and_helpers(merge_base: Ended):
    imported = merge_base.test("test_work")["imported"]["base"]
    base_tree = Path(imported["lib"]).parents[2]
    assert Path(imported["helpers"]) == base_tree / "benchmarks" / "helpers.py"
    assert Path(imported["helpers"]).read_text() == "def call(func):\n    return func()\n"


def test_each_side_imports_its_own_sources(merge_base: Ended, project: Project):
    imported = merge_base.test("test_work")["imported"]
    assert Path(imported["head"]["lib"]) == project.folder / "src/lib/__init__.py"
    assert not Path(imported["base"]["lib"]).is_relative_to(project.folder)


def test_a_plain_name_is_that_commit(project: Project):
    ended = project.measure("--rlperf-budget=20", against="main")
    assert ended.result["against"].startswith("main (")
    assert ended.metric("test_work")["base_value"] == pytest.approx(2e6, rel=0.002)


def test_the_working_tree_is_left_alone(merge_base: Ended, project: Project):
    assert project.git("status", "--porcelain").splitlines() == [
        "M benchmarks/helpers.py",
        " M src/lib/__init__.py",
    ]


@pytest.mark.parametrize(
    ("ref", "sentence"),
    [
        (
            "nowhere",
            "rlperf: The revision 'nowhere' is not in this repository; see `git branch --all` and "
            "`git tag`, or fetch it first.",
        ),
        (
            "-x",
            "rlperf: The revision '-x' begins with a dash, which git would read as an option; give "
            "a branch, tag or commit, such as --rlperf-against=main.",
        ),
        (
            "",
            "rlperf: '' names no revision; give a branch, tag or commit, such as "
            "--rlperf-against=main.",
        ),
    ],
)
def test_a_revision_that_cannot_be_found_is_refused(project: Project, ref: str, sentence: str):
    ended = project.refuse("--rlperf", f"--rlperf-against={ref}")
    assert ended.code == 4
    assert f"ERROR: {sentence}" in ended.text.splitlines()


def test_a_folder_that_is_no_repository_is_refused(workshop: Workshop):
    project = workshop.plain("no-repository")
    project.write({"test_a.py": "def test_a(rlperf): rlperf(int)\n"})
    ended = project.refuse("--rlperf", "--rlperf-against=main")
    assert ended.code == 4
    assert (
        f"ERROR: rlperf: {project.folder} is in no git repository, so there is no revision to "
        "compare with" in ended.text
    )
    assert "Traceback" not in ended.text


@pytest.fixture(scope="module")
def broken_base(workshop: Workshop) -> Ended:
    base = {"lib.py": "raise RuntimeError('half a commit')\n"}
    head = {"lib.py": library(1), "tests/test_perf.py": TESTS.replace("from helpers", "from lib")}
    head["lib.py"] += "\ndef call(func):\n    func()\n"
    return workshop.project("broken-base", base, head).measure()


def test_a_base_that_does_not_import_leaves_no_baseline(broken_base: Ended):
    assert broken_base.outcomes == {"test_work": "no_baseline"}
    reason = broken_base.metric("test_work")["reason"]
    assert reason == "it cannot be collected on the base: RuntimeError: half a commit"
    assert reason in broken_base.text


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        (
            "from lib import new_on_head",
            "ImportError: cannot import name 'new_on_head' from 'lib'",
        ),
        (
            "import lib",
            "the base worker ended (exit status 7) before it could run a test",
        ),
    ],
)
def test_a_conftest_that_cannot_be_loaded_on_the_base_leaves_no_baseline(
    workshop: Workshop, request: pytest.FixtureRequest, how: str, cause: str
):
    base = {"lib.py": "" if "new" in how else "import os\n\nos._exit(7)\n"}
    head = {
        "lib.py": library(1) + "\nnew_on_head = True\n",
        "conftest.py": f"{how}\n{CONFTEST}",
        "tests/test_perf.py": "import lib\n\ndef test_work(rlperf):\n    rlperf(lib.work)\n",
    }
    name = f"broken-conftest-{request.node.callspec.indices['how']}"
    ended = workshop.project(name, base, head).measure()
    assert ended.code == 6
    assert cause in ended.metric("test_work")["reason"]


def test_a_comparison_that_was_asked_for_and_did_not_take_place_is_an_error(broken_base: Ended):
    assert broken_base.code == 6
    assert broken_base.result["exit_code"] == 6
    label = broken_base.result["against"]
    assert f"rlperf: NOTHING WAS COMPARED with {label}; the reasons stand above." in (
        broken_base.text
    )
