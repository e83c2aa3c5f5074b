"""Workers begin with the bytecode that is there already."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_rlperf.trees.cache import BYTECODE_FOLDER, seed_bytecode


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    """A compiled module that was imported."""
    source = tmp_path / "library" / "sample.py"
    source.parent.mkdir()
    source.write_text("VALUE = 1\n")
    spec = importlib.util.spec_from_file_location("sample", source)
    assert spec is not None
    assert spec.cached is not None
    compiled = Path(spec.cached)
    compiled.parent.mkdir(parents=True, exist_ok=True)
    compiled.write_bytes(b"compiled")
    return importlib.util.module_from_spec(spec)


def seeded(caches: Path) -> list[Path]:
    return [path for path in (caches / BYTECODE_FOLDER).rglob("*") if path.is_file()]


def test_the_copy_lies_where_python_looks_for_it(tmp_path: Path, module: ModuleType):
    seed_bytecode(tmp_path / "caches", [module], besides=tmp_path / "project")
    script = "import importlib.util, sys; print(importlib.util.cache_from_source(sys.argv[1]))"
    prefix = ("-X", f"pycache_prefix={tmp_path / 'caches' / BYTECODE_FOLDER}")
    command = [sys.executable, "-B", *prefix, "-c", script, str(module.__file__)]
    asked = subprocess.run(command, capture_output=True, text=True, check=True)
    assert seeded(tmp_path / "caches") == [Path(asked.stdout.strip())]


def test_what_is_measured_is_compiled_anew(tmp_path: Path, module: ModuleType):
    seed_bytecode(tmp_path / "caches", [module], besides=tmp_path / "library")
    assert seeded(tmp_path / "caches") == []


def test_bytecode_that_is_there_stays(tmp_path: Path, module: ModuleType):
    caches = tmp_path / "caches"
    seed_bytecode(caches, [module], besides=tmp_path / "project")
    (copy,) = seeded(caches)
    copy.write_bytes(b"newer")
    seed_bytecode(caches, [module], besides=tmp_path / "project")
    assert copy.read_bytes() == b"newer"


def test_modules_without_bytecode_are_no_trouble(tmp_path: Path, module: ModuleType):
    assert module.__spec__ is not None
    assert module.__spec__.cached is not None
    Path(module.__spec__.cached).unlink()
    seed_bytecode(tmp_path, [module, sys, ModuleType("made_up")], besides=tmp_path / "project")
    assert seeded(tmp_path) == []
