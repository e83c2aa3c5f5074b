"""Virtual environments with a project installed in them, and processes that act as workers."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest_rlperf

MEASURING_CODE = Path(pytest_rlperf.__file__).parents[1]

WORKER = """
import importlib, importlib.util, json, os, sys
from pytest_rlperf.trees import imports
head, own, roots, names, prelude = json.loads(sys.argv[1])
if roots is not None:
    os.chdir(own)
    imports.install_tree_finder(head, own, roots)
exec(prelude)
found = {}
for name in names:
    try:
        module = importlib.import_module(name)
        found[name] = module.__file__ or list(module.__path__)
    except ModuleNotFoundError as error:
        found[name] = f"{type(error).__name__}: {error}"
if roots is None:
    roots = imports.import_roots(head, sys.path, sys.modules, sys.meta_path)
foreign = imports.foreign_imports(own, head, roots, sys.modules)
print(json.dumps({
    "roots": roots,
    "found": found,
    "foreign": [module.name for module in foreign],
    "explained": imports.explain(foreign) if foreign else "",
    "path": sys.path,
    "tree": imports.tree_modules(own, sys.modules),
}))
"""

BUILD = """
import importlib, json, sys
backend, hook, target, settings = json.loads(sys.argv[1])
getattr(importlib.import_module(backend), hook)(target, settings)
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment; what is installed in it is what pip would unpack into it."""

    folder: Path

    @property
    def site_packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def install(
        self, project: Path, backend: str, *, hook: str = "build_editable", **settings: str
    ):
        """Build with the project's own backend (PEP 517 and 660) and unpack the wheel."""
        target = self.folder / "wheels"
        target.mkdir(exist_ok=True)
        order = json.dumps([backend, hook, str(target), settings])
        _run([sys.executable, "-W", "ignore", "-c", BUILD, order], project, dict(os.environ))
        (wheel,) = target.glob("*.whl")
        zipfile.ZipFile(wheel).extractall(self.site_packages)

    def add_pth(self, line: str) -> None:
        (self.site_packages / "project.pth").write_text(f"{line}\n")

    def worker(
        self,
        head: Path,
        own: Path,
        roots: list[str] | None,
        names: list[str],
        prelude: str = "",
        path: tuple[Path, ...] = (),
    ) -> dict[str, Any]:
        """What a process of one side imports; without roots it is head, and finds them."""
        order = json.dumps([str(head), str(own), roots, names, prelude])
        folders = os.pathsep.join(map(str, [*path, MEASURING_CODE]))
        command = [str(self.folder / "bin/python"), "-P", "-c", WORKER, order]
        lines = _run(command, head, {"PYTHONPATH": folders}).splitlines()
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer


def new_environment(folder: Path) -> Environment:
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], None, dict(os.environ))
    return Environment(folder)


def _run(command: list[str], folder: Path | None, env: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
