"""The slowdowns must fit the code as it is: a patch that rots proves nothing."""

import ast
import subprocess
from pathlib import Path

import pytest

from .slowdowns import FOLDER, Slowdown, slowdowns

ROOT = Path(__file__).parents[3]
ALL = slowdowns()


def functions_in(text: str) -> set[str]:
    nodes = ast.walk(ast.parse(text))
    return {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_patch_is_in_the_manifest():
    assert {path.stem for path in FOLDER.glob("*.patch")} == {each.name for each in ALL}


def test_every_patch_is_slower_than_the_gate_allows():
    assert min(each.slower for each in ALL) > 0.05


def test_there_are_enough_of_them_and_three_are_in_compiled_code():
    assert len(ALL) >= 14
    assert sum(each.compiled for each in ALL) >= 3


@pytest.mark.parametrize("slowdown", ALL, ids=lambda slowdown: slowdown.name)
def test_a_patch_applies_to_the_function_it_names(slowdown: Slowdown, tmp_path: Path):
    """In a folder outside of the repository: git leaves paths alone that it does not track."""
    copy = tmp_path / slowdown.file
    copy.parent.mkdir(parents=True)
    before = (ROOT / slowdown.file).read_text(encoding="utf-8")
    copy.write_text(before, encoding="utf-8")
    environment = {"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    command = ["git", "apply", str(slowdown.path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert copy.read_text(encoding="utf-8") != before
    assert slowdown.edited.rpartition(".")[2] in functions_in(before)
