"""Laying files of head over a base tree, and taking them off again before the next run."""

import filecmp
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from pytest_rlperf.launch.checkout import Checkout


def read_manifest(manifest: Path) -> frozenset[str]:
    """The paths in which the tree differs from its revision because of an earlier run."""
    try:
        return frozenset(json.loads(manifest.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return frozenset()


def apply_patch(
    tree: Path,
    manifest: Path,
    checkout: Checkout,
    placed: Mapping[str, Path],
    removed: Iterable[str],
) -> None:
    """Make `tree` its revision plus the files `placed` (path in the tree → file of head), less
    the paths `removed`. Files that need no change keep their times, and so their bytecode.
    """
    earlier = read_manifest(manifest)
    folders = {str(folder) for path in placed for folder in PurePosixPath(path).parents}
    blocking = {path for path in folders - {"."} if _is_no_folder(tree / path)}
    touched = {*placed, *removed, *blocking, *(earlier & folders)}
    # Written first with all that may change: a crash half way leaves nothing unaccounted for.
    _write_manifest(manifest, earlier | touched)
    _restore(tree, checkout, earlier - touched)
    for path in {*blocking, *removed}:
        _discard(tree / path)
    for path, source in placed.items():
        _copy(source, tree / path)
    _write_manifest(manifest, touched)


def _restore(tree: Path, checkout: Checkout, paths: frozenset[str]) -> None:
    for path in paths:
        _discard(tree / path)
        _drop_empty_folders(tree, tree / path)
    checkout.write(tree, sorted(t for t in checkout.tracked if _is_at_or_below(t, paths)))


def _is_at_or_below(path: str, places: frozenset[str]) -> bool:
    return path in places or any(str(folder) in places for folder in PurePosixPath(path).parents)


def _is_no_folder(path: Path) -> bool:
    """Also a link to a folder: writing through it could leave the tree."""
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _discard(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _drop_empty_folders(tree: Path, path: Path) -> None:
    for folder in path.parents:
        if folder == tree or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()


def _copy(source: Path, target: Path) -> None:
    if _is_same(source, target):
        return
    _discard(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def _is_same(source: Path, target: Path) -> bool:
    if source.is_symlink() or target.is_symlink():
        both = source.is_symlink() and target.is_symlink()
        return both and os.readlink(source) == os.readlink(target)
    return target.is_file() and filecmp.cmp(source, target)


def _write_manifest(manifest: Path, paths: Iterable[str]) -> None:
    fresh = manifest.with_name(manifest.name + ".new")
    fresh.write_text(json.dumps(sorted(paths), indent=0), encoding="utf-8")
    fresh.replace(manifest)
