"""Workers begin with the bytecode and the kernels that are there already."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.trees.cache import (
    BYTECODE_FOLDER,
    KERNELS_FOLDER,
    OWNER,
    claim,
    clear,
    prune,
    prune_trees,
    seed_bytecode,
    share_kernels,
)


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


# -- kernels that Numba compiled ------------------------------------------------------------------

KERNEL = """
from numba import njit

from .helper import step


@njit(cache=True)
def walk(n):
    return step(n)


print(walk(1), walk.stats.cache_hits.total())
"""
HELPER = "from numba import njit\n\n\n@njit\ndef step(n):\n    return n + {}\n"


def make_trees(folder: Path, base_step: int) -> tuple[Path, Path]:
    trees = folder / "head", folder / "base"
    for tree, step in zip(trees, (1, base_step), strict=True):
        (tree / "lib").mkdir(parents=True)
        (tree / "lib" / "__init__.py").write_text("")
        (tree / "lib" / "kernel.py").write_text(KERNEL)
        (tree / "lib" / "helper.py").write_text(HELPER.format(step))
    return trees


def walked(tree: Path, caches: Path) -> list[int]:
    """Return what the kernel gave, and how often it was found compiled, in a fresh process."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(caches / KERNELS_FOLDER)}
    command = [sys.executable, "-c", "import lib.kernel"]
    run = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=True)
    return [int(word) for word in run.stdout.split()]


@pytest.mark.parametrize(
    ("base_step", "expected"),
    [
        pytest.param(1, [2, 1], id="the same: it is found compiled"),
        pytest.param(2, [3, 0], id="what it calls differs: it is compiled anew"),
    ],
)
def test_a_base_has_heads_kernels_if_all_that_they_hold_is_the_same(
    tmp_path: Path, base_step: int, expected: list[int]
):
    pytest.importorskip("numba")
    head, base = make_trees(tmp_path, base_step)
    assert walked(head, tmp_path) == [2, 0]
    files = ["lib/__init__.py", "lib/helper.py", "lib/kernel.py"]
    share_kernels(tmp_path, head, base, files)
    assert walked(base, tmp_path) == expected


def test_where_nothing_is_compiled_there_is_nothing_to_share(tmp_path: Path):
    head, base = make_trees(tmp_path, 1)
    share_kernels(tmp_path / "caches", head, base, ["lib/kernel.py", "lib/gone.py"])
    assert not (tmp_path / "caches").exists()


# What others may have laid under names that can be foretold, in a folder that they may write to.


def test_the_cache_is_ours_alone(tmp_path: Path):
    slot = claim(tmp_path / "cache" / "rlperf", tmp_path / "repository", "key")
    slot.release()
    made = [tmp_path / "cache", tmp_path / "cache" / "rlperf", slot.path.parent]
    assert [folder.stat().st_mode & 0o777 for folder in made] == [0o700] * 3


def test_a_link_in_the_cache_is_not_followed(tmp_path: Path):
    claim(tmp_path / "cache", tmp_path, "key").release()
    (owner,) = (tmp_path / "cache").glob(f"*/{OWNER}")
    precious = tmp_path / "precious"
    precious.write_text("as it was")
    owner.unlink()
    owner.symlink_to(precious)
    claim(tmp_path / "cache", tmp_path, "key").release()
    assert precious.read_text() == "as it was"
    assert not owner.is_symlink()
    assert owner.read_text() == str(tmp_path)


def test_a_link_for_a_lock_is_refused(tmp_path: Path):
    slot = claim(tmp_path / "cache", tmp_path, "key")
    slot.release()
    lock = slot.beside(".lock")
    lock.unlink()
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RevisionError, match="set RLPERF_CACHE to a folder"):
        claim(tmp_path / "cache", tmp_path, "key")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_others_keep_beside_the_trees_is_left_alone(tmp_path: Path, kind: str):
    project = tmp_path / "cache" / "project"
    owner = project / OWNER
    kept = [project / "poetry.lock", project / "poetry.toml"]
    kept.append(owner / "code.py" if kind == "folder" else owner)
    for file in kept:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("as it was")
    prune(tmp_path / "cache", most_bytes=0)
    clear(tmp_path / "cache")
    assert all(file.exists() for file in kept)


def test_trees_whose_owner_cannot_be_read_are_not_taken_for_abandoned(tmp_path: Path):
    slot = claim(tmp_path / "cache", tmp_path, "key")
    slot.path.mkdir()
    slot.release()
    owner = slot.path.with_name(OWNER)
    owner.unlink()
    owner.mkdir()
    prune_trees(tmp_path / "cache")
    assert slot.path.is_dir()
