"""Changes made up to fool the watch: none that a test meets is missed by a real session."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rlperf.model.code import Ran
from pytest_rlperf.reading import typed
from pytest_rlperf.trees.code_changes import SameCode, TwoTrees, code_changes
from pytest_rlperf.wire import plain

from .constructed import FOOLING, HARMLESS, IN_PROCESSES, LINGERING, Case

TOP = Path(__file__).parents[2]


def write_tree(folder: Path, cases: Mapping[str, Case], side: str) -> None:
    for name, case in cases.items():
        files = {f"the_{name}/{file}": text for file, text in case.files(side).items()}
        test = f"from the_{name} import lib\n\n\ndef test_{name}():\n    {case.test}\n"
        for file, text in {**files, f"tests/test_{name}.py": test}.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")


def all_files(*trees: Path) -> set[str]:
    return {
        path.relative_to(tree).as_posix() for tree in trees for path in tree.rglob("*.*")
        if path.is_file() and "__pycache__" not in path.parts
    }  # fmt: skip


def watched(tree: Path, changes: Path, seen: Path, cases: Iterable[str]) -> dict[str, Ran]:
    """Run the tests of these cases on one side; return what was seen of each."""
    env = {**os.environ, "WATCHED_TREE": str(tree), "CHANGES": str(changes), "SEEN": str(seen)}
    env |= {"PYTHONPATH": f"{tree}{os.pathsep}{TOP}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.trees.watching"]
    command += [f"tests/test_{name}.py" for name in cases]
    run = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    lines = (json.loads(line) for line in seen.read_text().splitlines())
    return {nodeid.rpartition("::test_")[2]: typed(Ran, ran) for nodeid, ran in lines}


def differences(folder: Path, cases: Mapping[str, Case]) -> dict[str, list[str]]:
    """Return the differences that each case's test was seen to meet, those of other cases aside:
    all run in one session, and some of the modules could change any other.
    """
    head, base = folder / "head", folder / "base"
    write_tree(head, cases, "head")
    write_tree(base, cases, "base")
    trees = TwoTrees(head, base)
    same = SameCode(trees, code_changes(trees, all_files(head, base)))
    assert same.watched is not None
    changes = folder / "changes.json"
    changes.write_text(json.dumps(plain(same.watched)))
    # As a run does it: on the base, too, only where that has a module which head has not.
    more = [name for name, case in cases.items() if _base_has_more(case)]
    seen = [watched(head, changes, folder / "head.seen", cases)]
    seen += [watched(base, changes, folder / "base.seen", more)] if more else []
    return {
        name: [text for text in same.differences(side[name] for side in seen if name in side)
               if f"the_{name}/" in text or "/" not in text]
        for name in cases
    }  # fmt: skip


def _base_has_more(case: Case) -> bool:
    return any(f.endswith(".py") for f in case.files("base").keys() - case.files("head").keys())


def both_ways(cases: Mapping[str, Case]) -> dict[str, Case]:
    """Return the changes, and each of them taken back, unless it is about being followed."""
    back = {
        f"{name}_back": replace(case, base=case.head, head=case.base)
        for name, case in cases.items()
        if name not in IN_PROCESSES and name not in LINGERING
    }
    return {**cases, **back}


MET, UNMET = both_ways(FOOLING), both_ways(HARMLESS)
ALONE = {name: FOOLING[name] for name in sorted(LINGERING)}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    alone = ({name: case} for name, case in ALONE.items())
    others = {name: case for name, case in MET.items() if name not in ALONE}
    sessions = (differences(tmp_path_factory.mktemp("s"), c) for c in (*alone, others, UNMET))
    return {name: found for session in sessions for name, found in session.items()}


def test_there_are_enough_changes_to_fool_it():
    assert len(MET) >= 100


@pytest.mark.parametrize("name", MET)
def test_a_change_that_the_test_meets_is_seen(seen: dict[str, list[str]], name: str):
    assert seen[name]


@pytest.mark.parametrize("name", IN_PROCESSES)
def test_a_process_is_followed_to_what_it_meets(seen: dict[str, list[str]], name: str):
    assert {text.partition("/")[0] for text in seen[name]} == {f"the_{name}"}


@pytest.mark.parametrize("name", UNMET)
def test_a_change_that_the_test_does_not_meet_needs_no_clock(seen: dict[str, list[str]], name: str):
    assert not seen[name]
