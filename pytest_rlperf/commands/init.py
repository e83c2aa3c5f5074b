"""`rlperf init`: a first performance test, a workflow and settings for somebody's project."""

import ast
import configparser
import os
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_rlperf import markers
from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import write_atomically
from pytest_rlperf.gate import selection
from pytest_rlperf.reading import parse_toml, read_toml
from pytest_rlperf.trees.git import git_or_none
from pytest_rlperf.trees.ownership import ENVIRONMENT_MARKS, INSTALLED

# -- what the project looks like, before anything is written into it ----------------------------

PYPROJECT = "pyproject.toml"
INI_FILES = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest"}
INI_FILES["setup.cfg"] = "tool:pytest"
"""Files in which pytest looks for its settings, and the section it reads there."""

BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
"""One that means nothing else in YAML, and is no pattern of GitHub's."""

NO_PACKAGES = frozenset(
    {"tests", "test", "docs", "doc", "examples", "benchmarks", "scripts", "tools", "build", "dist"}
)

NO_TESTS = INSTALLED | {"build", "dist", "node_modules"}
TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
MEASURED = selection.FIXTURES | markers.FIXTURES
"""A test with one of these fixtures is measured as it is."""
MARKED = frozenset({f"mark.{name}" for name in (*selection.MARKERS, *markers.FIXTURES)})
"""So is one with such a marker."""

AFRESH_TWICE = """
import importlib, sys
name = sys.argv[1]
for _ in range(3):
    for loaded in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
        del sys.modules[loaded]
    importlib.import_module(name)
"""
IMPORT_S = 60.0


@dataclass(frozen=True, slots=True)
class IniFile:
    """Settings of pytest that are kept outside of pyproject.toml."""

    name: str
    section: str


def read_pyproject(folder: Path) -> Mapping[str, Any] | None:
    """Read the project's pyproject.toml; None: there is none."""
    return read_toml(folder / PYPROJECT)


def has_pytest_table(pyproject: Mapping[str, Any]) -> bool:
    tool = pyproject.get("tool", {})
    return isinstance(tool, dict) and "pytest" in tool


def find_ini(folder: Path) -> IniFile | None:
    """Find the one pytest reads: a pytest.ini counts even when it is empty."""
    for name, section in INI_FILES.items():
        path = folder / name
        if path.is_file() and (name.endswith("pytest.ini") or _has_section(path, section)):
            return IniFile(name, section)
    return None


def _has_section(path: Path, section: str) -> bool:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (OSError, ValueError, configparser.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}; correct it first.") from None
    return parser.has_section(section)


def find_package(folder: Path, pyproject: Mapping[str, Any] | None) -> str | None:
    """Find the package of the project's own name, or the only one there is."""
    names = sorted(set(_packages(folder / "src")) | set(_packages(folder)))
    named = _project_name(pyproject or {})
    if named in names:
        return named
    return names[0] if len(names) == 1 else None


def _project_name(pyproject: Mapping[str, Any]) -> str:
    project = pyproject.get("project", {})
    name = project.get("name", "") if isinstance(project, dict) else ""
    return (name if isinstance(name, str) else "").replace("-", "_").replace(".", "_").lower()


def _packages(folder: Path) -> Iterator[str]:
    for path in folder.glob("*/__init__.py"):
        name = path.parent.name
        if name.isidentifier() and name not in NO_PACKAGES:
            yield name


def why_not_imported(package: str, folder: Path) -> str | None:
    """Import it as the first test will; returns the reason why that fails, if it does."""
    # -P: found because it is installed, not because this command was started beside it.
    command = [sys.executable, "-P", "-c", AFRESH_TWICE, package]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=IMPORT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {IMPORT_S:.0f} s"
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def find_performance_tests(folder: Path) -> list[Path]:
    """Find the files below the folder that hold tests with a fixture or a marker of theirs."""
    found = []
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if _may_hold_tests(Path(path, name))]
        tests = (Path(path, name) for name in files if TEST_FILE.fullmatch(name))
        found += [test.relative_to(folder) for test in tests if _holds_one(test)]
    return sorted(found)


def _may_hold_tests(folder: Path) -> bool:
    hidden = folder.name.startswith((".", "_")) or folder.name in NO_TESTS
    return not hidden and not any((folder / mark).exists() for mark in ENVIRONMENT_MARKS)


def _holds_one(file: Path) -> bool:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, ValueError, SyntaxError):
        return False
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(f.name.startswith("test") and _is_measured(f) for f in functions)


def _is_measured(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = (ast.unparse(d).partition("(")[0].removeprefix("pytest.") for d in test.decorator_list)
    return any(arg.arg in MEASURED for arg in test.args.args) or not MARKED.isdisjoint(marks)


def places_of(tests: Sequence[Path]) -> str:
    """Write the arguments with which pytest finds them: their folders, or those at the top by name;
    none that lies in another.
    """
    places = {test if test.parent == Path() else test.parent for test in tests}
    outer = [place for place in places if not places.intersection(place.parents)]
    return " ".join(shlex.quote(place.as_posix()) for place in sorted(outer))


def install_words(folder: Path, pyproject: Mapping[str, Any] | None) -> str:
    """Write what CI hands to pip."""
    words = ["pytest-rlperf"]
    if (folder / "requirements.txt").is_file():
        words += ["-r", "requirements.txt"]
    if (folder / "setup.py").is_file() or {"project", "build-system"} & set(pyproject or {}):
        words += ["-e", "."]
    return " ".join(words)


def main_branch(folder: Path) -> str:
    """Name the branch whose history CI keeps: the remote's, as the clone knows it, or main."""
    head = git_or_none(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    name = (head or "").removeprefix("origin/")
    return name if BRANCH.fullmatch(name) else "main"


# -- the command --------------------------------------------------------------------------------

TEST = "tests/perf/test_first.py"
WORKFLOW = ".github/workflows/rlperf.yml"
COMMENT_WORKFLOW = ".github/workflows/rlperf-comment.yml"
ACTION = ".github/actions/rlperf/action.yml"
PYTEST_INI = "pytest.ini"
FIRST_PLACE = "tests/perf"
NEXT = "pytest --rlperf --rlperf-against=HEAD"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path(),
        help="of the project (default: this one)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite files without asking")


def run(arguments: Namespace) -> int:
    folder: Path = arguments.folder
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; name the one of your project.")
    pyproject = read_pyproject(folder)
    tests = [test for test in find_performance_tests(folder) if test != Path(TEST)]
    where = places_of(tests) or FIRST_PLACE
    files = {} if tests else {TEST: _first_test(folder, pyproject)}
    if tests:
        print(f"No first test: there are performance tests in {where}.")
    if _is_top_of_repository(folder):
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        install = install_words(folder, pyproject)
        files[WORKFLOW] = render_workflow(python, install, main_branch(folder), where)
        files[COMMENT_WORKFLOW] = render_comment_workflow(python, version("pytest-rlperf"))
        files[ACTION] = render_action()
    for name in _to_write(folder, files, arguments.force):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, files[name])
        print(f"wrote {path}")
    _add_settings(folder, pyproject)
    print(f"Next, commit these files, change something, and run:\n  {NEXT} {where}")
    return 0


def _first_test(folder: Path, pyproject: Mapping[str, Any] | None) -> str:
    package = find_package(folder, pyproject)
    if package is None:
        return render_test(None)
    reason = why_not_imported(package, folder)
    if reason is not None:
        print(f"The first test is an example only: {package} cannot be imported here ({reason}).")
        return render_test(None)
    return render_test(package)


def _is_top_of_repository(folder: Path) -> bool:
    """Look for the place where GitHub reads workflows, and nowhere else; say so if it is not."""
    prefix = git_or_none(folder, "rev-parse", "--show-prefix")
    if prefix is None or not prefix.strip():
        return True
    print(f"No workflow: {folder} is not the top of its repository, where GitHub looks for one.")
    return False


def _to_write(folder: Path, files: Mapping[str, str], force: bool) -> list[str]:
    """Ask or refuse everything before anything is written."""
    names = [name for name in files if not _holds(folder / name, files[name])]
    existing = [name for name in names if (folder / name).exists()]
    if force or not existing:
        return names
    if not sys.stdin.isatty():
        paths = " and ".join(str(folder / name) for name in existing)
        raise UsageError(f"{paths} would be overwritten; move it away, or add --force.")
    kept = [name for name in existing if not _agreed(f"Overwrite {folder / name}?")]
    return [name for name in names if name not in kept]


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def _agreed(question: str) -> bool:
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _add_settings(folder: Path, pyproject: Mapping[str, Any] | None) -> None:
    """Add the settings; where pytest has some, show them instead: nobody's table is edited."""
    ini = find_ini(folder)
    if ini is not None:
        _show(folder / ini.name, render_ini(ini.section))
    elif pyproject is None:
        write_atomically(folder / PYTEST_INI, render_ini())
        print(f"wrote {folder / PYTEST_INI}")
    elif has_pytest_table(pyproject) or not _append(folder / PYPROJECT, pyproject):
        _show(folder / PYPROJECT, render_toml())


def _show(path: Path, text: str) -> None:
    if "rlperf_" not in path.read_text(encoding="utf-8"):
        print(f"{path} holds settings of pytest, so it is yours to edit; you may add:\n\n{text}")


def _append(path: Path, before: Mapping[str, Any]) -> bool:
    """Add the table if everything else can stay as it is; returns whether it was added."""
    text = path.read_bytes().decode("utf-8")
    end = "\r\n" if "\r\n" in text else "\n"
    gap = end if text.endswith("\n") or not text else 2 * end
    added = gap + render_toml().replace("\n", end)
    try:
        after = parse_toml(text + added)
    except ValueError:  # `tool = {...}` on one line takes no more tables
        return False
    after["tool"].pop("pytest")
    if {"tool": {}} | after != {"tool": {}} | dict(before):
        return False
    with path.open("ab") as file:
        file.write(added.encode())
    print(f"added [tool.pytest.ini_options] to {path}")
    return True


# -- the texts that are written; whole files lie beside this one ----------------------------------

SETTINGS = {"rlperf_budget": "300"}
"""The allowed slowdown is left out: its default depends on what is compared with."""
WHY = "# Seconds that `pytest --rlperf` may take."


def render_workflow(python: str, install: str, branch: str, tests: str) -> str:
    text = _own_file("workflow.yml").replace("<python>", python).replace("<install>", install)
    return text.replace("<branch>", branch).replace("<tests>", tests)


def render_comment_workflow(python: str, rlperf: str) -> str:
    text = _own_file("comment_workflow.yml").replace("<python>", python)
    return text.replace("<version>", f"=={rlperf}")


def render_action() -> str:
    """Return the action of this version: a copy needs no address, and changes when you say."""
    return _own_file("action.yml")


def _own_file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def render_test(package: str | None) -> str:
    if package is None:
        return _own_file("example_test.txt")
    return _own_file("import_test.txt").replace("<package>", package)


def render_toml() -> str:
    lines = [f'{name} = "{value}"' for name, value in SETTINGS.items()]
    return "\n".join(["[tool.pytest.ini_options]", WHY, *lines]) + "\n"


def render_ini(section: str = "pytest") -> str:
    lines = [f"{name} = {value}" for name, value in SETTINGS.items()]
    return "\n".join([f"[{section}]", WHY, *lines]) + "\n"
