"""The files in which a revision differs from another, or from the working tree."""

import itertools
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.trees.reach import Imports, ImportsUnknown, changed_files, is_reached
from tests.factories import examples
from tests.trees.repositories import commit, new_repository, run_git, write_files


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {"a.py": "", "b.py": "", "sub/c.py": "", ".gitignore": "*.pyc\n"}
    return new_repository(tmp_path / "repo", files)


def changed(root: Path, top: Path, base: str = "main", head: str | None = None) -> set[str]:
    return {str(p.relative_to(top.resolve())) for p in changed_files(root, base, head)}


def test_edits_new_files_and_removed_ones_of_the_working_tree_count(repository: Path):
    write_files(repository, {"a.py": "x = 1\n", "new ü.py": "", "ignored.pyc": ""})
    (repository / "b.py").unlink()
    assert changed(repository, repository) == {"a.py", "b.py", "new ü.py"}


def test_both_names_of_a_renamed_file_count(repository: Path):
    run_git(repository, "mv", "sub/c.py", "sub/d.py")
    assert changed(repository, repository) == {"sub/c.py", "sub/d.py"}


def test_between_two_commits_the_working_tree_does_not_count(repository: Path):
    base = run_git(repository, "rev-parse", "HEAD")
    head = commit(repository, {"a.py": "x = 1\n"})
    write_files(repository, {"b.py": "x = 1\n", "new.py": ""})
    assert changed(repository, repository, base, head) == {"a.py"}


def test_below_the_top_of_the_repository_all_of_it_counts(repository: Path):
    write_files(repository, {"a.py": "x = 1\n"})
    assert changed(repository / "sub", repository) == {"a.py"}


# What a test imports, directly or through others, as far as it lies in the repository.


COUNT = itertools.count()


class Tree:
    """A folder whose packages can be imported; each has a name of its own, since Python and grimp
    remember modules by name.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lib = f"reachlib{next(COUNT)}"

    def write(self, files: dict[str, str]) -> None:
        write_files(self.folder, {self._own(n): self._own(t) for n, t in files.items()})

    def _own(self, text: str) -> str:
        return text.replace("lib", self.lib)

    def reached(self, *names: str) -> set[str]:
        files = [self.folder / name for name in names]
        found = Imports.around(files, self.folder).reached(files)
        shown = (str(file.relative_to(self.folder)) for file in found)
        return {name.replace(self.lib, "lib") for name in shown} - set(names)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.syspath_prepend(tmp_path)
    return Tree(tmp_path.resolve())


def test_the_packages_on_the_way_are_run_too(tree: Tree):
    tree.write({
        "lib/__init__.py": "from lib import early\n",
        "lib/early.py": "", "lib/sub/__init__.py": "", "lib/sub/a.py": "", "lib/sub/b.py": "",
        "test_a.py": "import lib.sub.a\n",
    })  # fmt: skip
    assert tree.reached("test_a.py") == {
        "lib/__init__.py", "lib/early.py", "lib/sub/__init__.py", "lib/sub/a.py",
    }  # fmt: skip


def test_imports_are_followed_through_modules_also_those_inside_of_functions(tree: Tree):
    tree.write({
        "lib/__init__.py": "", "lib/a.py": "def f():\n    from . import b\n",
        "lib/b.py": "from .c import x\n", "lib/c.py": "x = 1\n", "lib/other.py": "",
        "test_a.py": "def test():\n    from lib.a import f\n",
    })  # fmt: skip
    assert tree.reached("test_a.py") == {"lib/__init__.py", "lib/a.py", "lib/b.py", "lib/c.py"}


def test_helpers_beside_the_tests_lead_on(tree: Tree):
    tree.write({
        "lib/__init__.py": "", "lib/a.py": "",
        "tests/perf/test_a.py": "from ..helpers import x\nfrom .near import y\n",
        "tests/perf/near.py": "y = 1\n", "tests/helpers.py": "import lib.a\n",
        "tests/broken.py": "def (",
    })  # fmt: skip
    assert tree.reached("tests/perf/test_a.py") == {
        "tests/perf/near.py", "tests/helpers.py", "lib/__init__.py", "lib/a.py",
    }  # fmt: skip


def test_a_second_package_and_a_single_module_are_found_through_the_first(tree: Tree):
    tree.write({
        "lib/__init__.py": "", "lib/a.py": "import other_lib.x\nimport single_lib\n",
        "other_lib/__init__.py": "", "other_lib/x.py": "", "other_lib/z.py": "",
        "single_lib.py": "import other_lib.y\n", "other_lib/y.py": "",
        "test_a.py": "import lib.a\n",
    })  # fmt: skip
    assert tree.reached("test_a.py") == {
        "lib/__init__.py", "lib/a.py", "single_lib.py",
        "other_lib/__init__.py", "other_lib/x.py", "other_lib/y.py",
    }  # fmt: skip


def test_what_is_installed_or_built_in_is_nobodys_of_the_repository(tree: Tree):
    tree.write({"test_a.py": "import os, sys, json, pytest, no_such_module\n"})
    assert tree.reached("test_a.py") == set()


def test_a_file_that_is_no_python_is_told(tree: Tree):
    tree.write({"test_a.py": "def ("})
    with pytest.raises(ImportsUnknown, match=r"test_a\.py cannot be read \(invalid syntax"):
        tree.reached("test_a.py")


def test_a_package_that_grimp_cannot_read_is_told(tree: Tree):
    tree.write({"lib/__init__.py": "", "lib/a.py": "def (", "test_a.py": "import lib\n"})
    with pytest.raises(ImportsUnknown, match=rf"grimp cannot read {tree.lib} \("):
        tree.reached("test_a.py")


def test_without_grimp_it_is_told_how_to_get_it(tree: Tree, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "grimp", None)
    tree.write({"lib/__init__.py": "", "test_a.py": "import lib\n"})
    with pytest.raises(ImportsUnknown, match=r"pip install 'pytest-rlperf\[hooks\]'"):
        tree.reached("test_a.py")


# Which changes reach a test: in doubt, all of them.


TOP = Path("/repo")
TEST = TOP / "tests/perf/test_a.py"
IMPORTS = {TEST, TOP / "tests/conftest.py", TOP / "lib/__init__.py", TOP / "lib/a.py"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lib/a.py", True),
        ("lib/__init__.py", True),
        ("tests/perf/test_a.py", True),
        ("tests/conftest.py", True),
        ("lib/b.py", False),
        ("tests/test_b.py", False),
        ("docs/conf.py", False),
        ("conftest.py", True),  # removed: the test had it
        ("tests/other/conftest.py", False),
        ("setup.py", True),
        ("pyproject.toml", True),
        ("src/fast.c", True),
        ("lib/table.json", True),
        ("README.md", False),
        ("docs/proof/figures.csv", False),
        ("lib/docs/figures.csv", True),
        ("docs/figure.svg", False),
        (".github/workflows/ci.yml", False),
        (".gitignore", False),
    ],
)
def test_a_changed_file_reaches_what_imports_it_or_might(name: str, expected: bool):
    assert is_reached(TEST, IMPORTS, [TOP / name], TOP) is expected


def test_a_test_that_imports_nothing_of_the_project_is_reached_by_all_code():
    own = {TEST, TOP / "tests/conftest.py"}
    assert is_reached(TEST, own, [TOP / "lib/b.py"], TOP)
    assert not is_reached(TEST, own, [TOP / "README.md"], TOP)


names = st.sampled_from(["lib/a.py", "lib/b.py", "x.json", "README.md", "conftest.py", "setup.py"])


@examples
@given(st.lists(names), st.lists(names))
def test_a_larger_change_never_reaches_less(some: list[str], more: list[str]):
    def reached(changed: list[str]) -> bool:
        return is_reached(TEST, IMPORTS, [TOP / name for name in changed], TOP)

    assert reached(some) <= reached(some + more)
