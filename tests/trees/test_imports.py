"""The base side imports the base's code, whatever way head's was installed."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_rlperf.trees.imports import ForeignImport, explain, foreign_imports, import_roots
from pytest_rlperf.trees.ownership import Trees, library_roots, relative
from tests.trees.environments import MEASURING_CODE, Environment, new_environment
from tests.trees.repositories import write_files

SETUPTOOLS, HATCHLING = "setuptools.build_meta", "hatchling.build"
PROJECT = "[project]\nname = 'lib'\nversion = '1'\n[build-system]\nrequires = []\n"
EXACT = "[tool.hatch.build]\ndev-mode-exact = true\n"
HATCH_SRC = "[tool.hatch.build.targets.wheel]\npackages = ['src/lib']\n"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return new_environment(tmp_path / "environment")


@pytest.fixture
def trees(tmp_path: Path) -> Callable[[str, str], tuple[Path, Path]]:
    def make(folder: str, settings: str = "") -> tuple[Path, Path]:
        for side in ("head", "base"):
            package = tmp_path / side / folder / "lib"
            write_files(package, {"__init__.py": f"SIDE = {side!r}\n", "core.py": ""})
            write_files(tmp_path / side, {"pyproject.toml": PROJECT + settings})
        write_files(tmp_path / "head" / folder / "lib", {"added.py": ""})
        write_files(tmp_path / "base" / folder, {"lib/dropped.py": "", "old.py": ""})
        return tmp_path / "head", tmp_path / "base"

    return make


def install_setuptools(environment: Environment, head: Path) -> None:
    environment.install(head, SETUPTOOLS)


def install_setuptools_compat(environment: Environment, head: Path) -> None:
    environment.install(head, SETUPTOOLS, editable_mode="compat")


def install_hatchling(environment: Environment, head: Path) -> None:
    pytest.importorskip("hatchling")
    environment.install(head, HATCHLING)


def install_redirector(environment: Environment, head: Path) -> None:
    """hatchling's exact mode, by way of `editables`."""
    editables = pytest.importorskip("editables")
    install_hatchling(environment, head)
    package = Path(editables.__file__).parent
    shutil.copytree(package, environment.site_packages / "editables")


def install_pth(environment: Environment, head: Path) -> None:
    environment.add_pth(str(head / "src" if (head / "src").exists() else head))


def install_rebuilding_finder(environment: Environment, head: Path) -> None:
    """As meson-python does: a finder before all others, with files in a table of its own."""
    source = f"""
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "lib":
            return importlib.util.spec_from_file_location(name, {str(head / "lib/__init__.py")!r})
        if name == "lib.added":
            return importlib.util.spec_from_file_location(name, {str(head / "lib/added.py")!r})
sys.meta_path.insert(0, Finder)
"""
    write_files(environment.site_packages, {"_finder.py": source})
    environment.add_pth("import _finder")


INSTALLATIONS: dict[str, tuple[str, str, Callable[[Environment, Path], None]]] = {
    "setuptools, flat": ("", "", install_setuptools),
    "setuptools, src": ("src", "", install_setuptools),
    "setuptools, src, compat": ("src", "", install_setuptools_compat),
    "setuptools, flat, compat": ("", "", install_setuptools_compat),
    "hatchling, flat": ("", "", install_hatchling),
    "hatchling, src": ("src", HATCH_SRC, install_hatchling),
    "editables' redirector": ("src", HATCH_SRC + EXACT, install_redirector),
    "pth, src": ("src", "", install_pth),
    "pth, flat": ("", "", install_pth),
    "a finder before all others": ("", "", install_rebuilding_finder),
}

NAMES = ["lib", "lib.core", "lib.added", "lib.dropped"]


def assert_sides_are_apart(found: dict[str, Any], folder: Path, missing: str) -> None:
    files = {"lib": "__init__.py", "lib.core": "core.py"}
    assert {name: found["found"][name] for name in files} == {
        name: str(folder / "lib" / file) for name, file in files.items()
    }
    assert found["found"][missing].startswith("ModuleNotFoundError: No module named")
    assert found["foreign"] == []
    assert found["tree"]["lib"] == str(folder / "lib/__init__.py")


@pytest.mark.parametrize("kind", INSTALLATIONS)
def test_the_base_wins_over_an_editable_installation(kind: str, environment, trees):
    folder, settings, install = INSTALLATIONS[kind]
    head, base = trees(folder, settings)
    install(environment, head)
    at_head = environment.worker(head, head, None, NAMES)
    assert_sides_are_apart(at_head, head / folder, missing="lib.dropped")
    again = environment.worker(head, head, at_head["roots"], NAMES)
    assert again["found"] == at_head["found"]
    at_base = environment.worker(head, base, at_head["roots"], [*NAMES, "old"])
    assert_sides_are_apart(at_base, base / folder, missing="lib.added")
    assert at_base["found"]["lib.dropped"] == str(base / folder / "lib/dropped.py")
    assert at_base["found"]["old"] == str(base / folder / "old.py")
    # Processes that are spawned inherit the path, but not the finder.
    assert not [entry for entry in at_base["path"] if entry.startswith(str(head))]


@pytest.mark.parametrize("folder", ["", "src"])
def test_the_base_wins_where_nothing_is_installed(folder: str, environment, trees):
    head, base = trees(folder)
    at_head = environment.worker(head, head, None, NAMES, path=(head / folder,))
    assert_sides_are_apart(at_head, head / folder, missing="lib.dropped")
    at_base = environment.worker(head, base, at_head["roots"], NAMES, path=(head / folder,))
    assert_sides_are_apart(at_base, base / folder, missing="lib.added")


def test_the_base_may_have_another_layout(environment, trees, tmp_path: Path):
    head, base = trees("src")
    shutil.move(base / "src/lib", base / "lib")
    install_setuptools(environment, head)
    at_base = environment.worker(head, base, ["src"], NAMES)
    assert_sides_are_apart(at_base, base, missing="lib.added")


def test_a_package_that_only_head_has_says_so(environment, trees):
    head, base = trees("src")
    write_files(head, {"src/other/__init__.py": ""})
    install_pth(environment, head)
    at_base = environment.worker(head, base, ["src"], ["other"])
    assert "'other' in the base revision" in at_base["found"]["other"]
    assert "only head has it" in at_base["found"]["other"]


def test_namespace_packages_are_taken_apart(environment, trees):
    head, base = trees("src")
    for side in (head, base):
        write_files(side, {"src/space/mine/__init__.py": ""})
    write_files(environment.site_packages, {"space/theirs/__init__.py": ""})
    install_setuptools(environment, head)
    names = ["space.mine", "space.theirs"]
    at_head = environment.worker(head, head, None, names)
    assert at_head["found"]["space.mine"] == str(head / "src/space/mine/__init__.py")
    at_base = environment.worker(head, base, at_head["roots"], names)
    theirs = str(environment.site_packages / "space/theirs/__init__.py")
    expected = {"space.mine": str(base / "src/space/mine/__init__.py"), "space.theirs": theirs}
    assert at_base["found"] == expected
    assert at_base["foreign"] == []


def test_a_namespace_of_an_editable_finder_is_moved(environment, trees):
    head, base = trees("", "[tool.setuptools]\npackages = ['space.mine']\n")
    for side in (head, base):
        write_files(side, {"space/mine/__init__.py": ""})
    install_setuptools(environment, head)
    at_head = environment.worker(head, head, None, ["space.mine"])
    assert at_head["found"]["space.mine"] == str(head / "space/mine/__init__.py")
    at_base = environment.worker(head, base, at_head["roots"], ["space.mine"])
    assert at_base["found"]["space.mine"] == str(base / "space/mine/__init__.py")
    assert at_base["foreign"] == []


def test_a_tree_of_links_that_setuptools_makes_leads_to_the_bases_sources(environment, trees):
    head, base = trees("src")
    environment.install(head, SETUPTOOLS, editable_mode="strict")
    at_head = environment.worker(head, head, None, ["lib"])
    assert at_head["found"]["lib"].startswith(str(head / "build"))
    assert at_head["foreign"] == []
    at_base = environment.worker(head, base, at_head["roots"], NAMES)
    assert_sides_are_apart(at_base, base / "src", missing="lib.added")


def test_a_package_whose_folder_has_another_name_is_moved(environment, trees):
    settings = "[tool.setuptools]\npackages = ['lib']\npackage-dir = {lib = 'source'}\n"
    head, base = trees("", settings)
    for side in (head, base):
        shutil.move(side / "lib", side / "source")
    install_setuptools(environment, head)
    at_head = environment.worker(head, head, None, ["lib.core"])
    at_base = environment.worker(head, base, at_head["roots"], ["lib.core"])
    assert at_head["found"]["lib.core"] == str(head / "source/core.py")
    assert at_base["found"]["lib.core"] == str(base / "source/core.py")
    assert at_base["foreign"] == []


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_a_pytest_session_on_the_base_runs_the_bases_own_files(mode: str, trees):
    head, base = trees("src")
    check = "import lib\n\ndef test_side(place):\n    assert lib.SIDE == 'base', place\n"
    fixture = "import pytest\n\n@pytest.fixture\ndef place():\n    return __file__\n"
    for side in (head, base):
        write_files(side, {"conftest.py": "", "tests/conftest.py": fixture})
        write_files(side, {"tests/perf/conftest.py": "", "tests/perf/test_side.py": check})
    prelude = f"""
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
status = pytest.main(["-q", "-p", "no:cacheprovider", "--import-mode={mode}", "tests"])
assert status == 0, status
"""
    path = (head / "src", head, head / "tests", head / "tests/perf")
    roots = ["src", ".", "tests", "tests/perf"]
    this = Environment(Path(sys.prefix))
    at_base = this.worker(head, base, roots, ["lib"], prelude, path=path)
    assert at_base["foreign"] == []
    assert at_base["tree"]["lib"] == str(base / "src/lib/__init__.py")


@pytest.mark.parametrize("folder", ["", "src"])
def test_a_copy_that_is_not_editable_is_refused(folder: str, environment, trees):
    head, base = trees(folder)
    environment.install(head, SETUPTOOLS, hook="build_wheel")
    shutil.rmtree(head / "build")
    at_head = environment.worker(head, head, None, ["lib"])
    at_base = environment.worker(head, base, at_head["roots"], ["lib"])
    for answer in (at_head, at_base):
        assert answer["foreign"] == ["lib"]
        assert "install the project editable (pip install -e .)" in answer["explained"]


def test_heads_module_on_the_base_side_is_noticed(environment, trees):
    head, base = trees("src")
    prelude = f"""
spec = importlib.util.spec_from_file_location("lib", {str(head / "src/lib/__init__.py")!r})
sys.modules["lib"] = importlib.util.module_from_spec(spec)
"""
    at_base = environment.worker(head, base, ["src"], [], prelude)
    assert at_base["foreign"] == ["lib"]
    assert "did not measure its own code" in at_base["explained"]


def test_a_path_of_head_added_later_leads_to_the_base(environment, trees):
    head, base = trees("src")
    for side in (head, base):
        write_files(side, {"src/space/mine.py": ""})
    prelude = f"sys.path.insert(0, {str(head / 'src')!r})"
    at_base = environment.worker(head, base, ["src"], [*NAMES, "space"], prelude)
    assert_sides_are_apart(at_base, base / "src", missing="lib.added")
    assert at_base["found"]["space"] == [str(base / "src/space")]


def test_a_compiled_part_kept_outside_of_the_tree_is_not_taken_for_the_bases(environment, trees):
    """As scikit-build-core does: sources in the tree, what was compiled in site-packages."""
    head, base = trees("src")
    compiled = environment.site_packages / "lib_compiled/fast.py"
    source = f"""
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "lib.fast":
            return importlib.util.spec_from_file_location(name, {str(compiled)!r})
sys.meta_path.append(Finder)
"""
    write_files(environment.site_packages, {"_finder.py": source, "lib_compiled/fast.py": ""})
    environment.add_pth(f"{head / 'src'}\nimport _finder")
    at_head = environment.worker(head, head, None, ["lib.fast"])
    assert at_head["found"]["lib.fast"] == str(compiled)
    assert at_head["foreign"] == []
    at_base = environment.worker(head, base, ["src"], ["lib.fast"])
    assert "set rlperf_build" in at_base["found"]["lib.fast"]


def test_the_measuring_code_stays_heads_and_is_not_reported(environment, trees):
    head, base = trees("")
    for side in (head, base):
        shutil.copytree(MEASURING_CODE / "pytest_rlperf", side / "pytest_rlperf")
    names = ["pytest_rlperf.trees.git", "lib"]
    at_base = environment.worker(head, base, ["."], names, path=(head,))
    assert at_base["found"] == {
        "pytest_rlperf.trees.git": str(head / "pytest_rlperf/trees/git.py"),
        "lib": str(base / "lib/__init__.py"),
    }
    assert at_base["foreign"] == []
    assert "pytest_rlperf" not in at_base["tree"]


@pytest.mark.parametrize("name", ["__main__", "__mp_main__"])
def test_the_first_file_is_measuring_code_under_the_name_multiprocessing_gives_it_too(name, trees):
    head, base = trees("")
    first = ModuleType("__main__")
    first.__file__ = str(head / "boot.py")
    assert foreign_imports(base, head, ["."], {name: first}) == []


def test_an_environment_inside_the_tree_is_not_the_trees(tmp_path: Path):
    write_files(tmp_path, {".venv/pyvenv.cfg": "", ".venv/lib/python3/site-packages/x.py": ""})
    folders = [str(tmp_path / ".venv"), str(tmp_path / ".venv/lib/python3/site-packages")]
    assert import_roots(tmp_path, [*folders, str(tmp_path)], {}, []) == (".",)
    assert relative(f"{folders[1]}/x.py", str(tmp_path)) is None


def test_a_base_inside_head_owns_its_files(tmp_path: Path):
    trees = Trees.of(tmp_path / "head/.cache/base", tmp_path / "head", ["."])
    assert trees.is_own(f"{tmp_path}/head/.cache/base/lib.py")
    assert trees.is_other(f"{tmp_path}/head/lib.py")
    assert trees.moved(f"{tmp_path}/head/lib.py") == f"{tmp_path}/head/.cache/base/lib.py"


def test_a_tree_reached_by_a_link_is_the_same_tree(tmp_path: Path):
    write_files(tmp_path / "real", {"src/lib.py": ""})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert import_roots(tmp_path / "real", [str(tmp_path / "link/src")], {}, []) == ("src",)


def test_libraries_are_looked_for_above_the_roots_but_not_among_tests():
    assert library_roots(("a/tests/perf", "b")) == ["b", "a", ".", "a/src", "src"]


def test_this_process_knows_where_its_measuring_code_comes_from():
    roots = import_roots(MEASURING_CODE, sys.path, sys.modules, sys.meta_path)
    assert "." in roots


def test_an_explanation_names_the_first_module_and_counts_the_others():
    found = [ForeignImport(name, f"/x/{name}.py", f"/y/{name}.py", True) for name in ("a", "b")]
    assert explain(found).startswith("a was imported from /x/a.py (and 1 more) instead")
