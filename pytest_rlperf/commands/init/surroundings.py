"""What a project looks like, before anything is written into it."""

import configparser
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.launch.git import git_or_none

PYPROJECT = "pyproject.toml"
INI_FILES = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest"}
INI_FILES["setup.cfg"] = "tool:pytest"
"""Files in which pytest looks for its settings, and the section it reads there."""

BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
"""One that means nothing else in YAML, and is no pattern of GitHub's."""

NO_PACKAGES = frozenset(
    {"tests", "test", "docs", "doc", "examples", "benchmarks", "scripts", "tools", "build", "dist"}
)

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
    """None: there is none."""
    path = folder / PYPROJECT
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}; correct it first.") from None


def has_pytest_table(pyproject: Mapping[str, Any]) -> bool:
    tool = pyproject.get("tool", {})
    return isinstance(tool, dict) and "pytest" in tool


def find_ini(folder: Path) -> IniFile | None:
    """The one pytest reads: a pytest.ini counts even when it is empty."""
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
    """The package of the project's own name, or the only one there is."""
    names = sorted(set(_packages(folder / "src")) | set(_packages(folder)))
    named = _project_name(pyproject or {})
    if named in names:
        return named
    return names[0] if len(names) == 1 else None


def _project_name(pyproject: Mapping[str, Any]) -> str:
    project = pyproject.get("project", {})
    name = project.get("name", "") if isinstance(project, dict) else ""
    return str(name).replace("-", "_").replace(".", "_").lower()


def _packages(folder: Path) -> Iterator[str]:
    for path in folder.glob("*/__init__.py"):
        name = path.parent.name
        if name.isidentifier() and name not in NO_PACKAGES:
            yield name


def why_not_imported(package: str, folder: Path) -> str | None:
    """Try it as the first test will; the reason why it does not work, if so."""
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


def install_words(folder: Path, pyproject: Mapping[str, Any] | None) -> str:
    """What CI hands to pip."""
    words = ["pytest-rlperf"]
    if (folder / "requirements.txt").is_file():
        words += ["-r", "requirements.txt"]
    if (folder / "setup.py").is_file() or {"project", "build-system"} & set(pyproject or {}):
        words += ["-e", "."]
    return " ".join(words)


def main_branch(folder: Path) -> str:
    """Of which CI keeps the history: the remote's, as the clone knows it, else the usual one."""
    head = git_or_none(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    name = (head or "").removeprefix("origin/")
    return name if BRANCH.fullmatch(name) else "main"
