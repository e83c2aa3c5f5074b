"""A checkout of the base revision beside the user's repository, which is not touched."""

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Self

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.launch import cache as slots
from pytest_rlperf.launch.build import build as run_build
from pytest_rlperf.launch.checkout import Checkout
from pytest_rlperf.launch.git import ignored, listed, top_level
from pytest_rlperf.launch.overlay import stale_files
from pytest_rlperf.launch.patch import apply_patch, read_manifest
from pytest_rlperf.launch.revision import SHORT, Revision

COMPLETE, OVERLAID, INDEX, LOG = ".complete", ".overlaid", ".index", ".log"
"""Files beside a tree. The first is written last: a tree without it is a crash's remains."""


@dataclass(frozen=True)
class Repository:
    """Where head is: pytest's root folder, and the repository around it."""

    root: Path
    top: Path
    prefix: str  # of the root inside the top level; "" where they are the same

    @classmethod
    def around(cls, root: Path) -> Self:
        return cls(Path(os.path.abspath(root)), *top_level(root))

    def relative(self, path: Path) -> str | None:
        """`path` as git names it, or None outside the repository."""
        path = Path(os.path.abspath(path))
        if path.is_relative_to(self.root):  # first as written: the root may be reached by a link
            return (PurePosixPath(self.prefix) / path.relative_to(self.root).as_posix()).as_posix()
        real = Path(os.path.realpath(path))
        return real.relative_to(self.top).as_posix() if real.is_relative_to(self.top) else None


@dataclass(frozen=True)
class BaseTree:
    """A tree of the base revision, this run's alone until it is closed."""

    path: Path  # counterpart of the repository's top level
    root: Path  # counterpart of pytest's root folder
    head: Repository
    notices: tuple[str, ...]
    _slot: slots.Slot = field(repr=False, compare=False)

    def counterpart(self, path: Path) -> Path:
        """Where a path of head lies in this tree; one outside the repository is left alone."""
        relative = self.head.relative(path)
        return path if relative is None else self.path / relative

    def close(self) -> None:
        self._slot.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lay_out(
    root: Path, revision: Revision, overlay: Iterable[Path], build: str | None, cache: Path
) -> BaseTree:
    """Check out `revision`, build it where asked, and copy head's benchmark files over it."""
    head = Repository.around(root)
    slot = slots.claim(cache, head.top, _key(head, revision, build), len(str(head.top)))
    try:
        tree = _filled(slot, head, revision, list(overlay), build)
    except BaseException:
        slot.release()
        raise
    slots.prune(cache)
    return tree


def _filled(
    slot: slots.Slot, head: Repository, revision: Revision, overlay: list[Path], build: str | None
) -> BaseTree:
    checkout = Checkout(head.top, revision, slot.beside(INDEX))
    if not (slot.beside(COMPLETE).exists() and slot.path.is_dir()):
        _write_afresh(slot, checkout, head.prefix, build)
    placed = _placed(head, overlay)
    generated = _generated(head.top, slot, checkout)
    removed = _removed(head, overlay, checkout)
    manifest = slot.beside(OVERLAID)
    apply_patch(slot.path, manifest, checkout, {**generated, **placed}, removed)
    return BaseTree(
        path=slot.path,
        root=slot.path / head.prefix,
        head=head,
        notices=_notices(checkout),
        _slot=slot,
    )


def _key(head: Repository, revision: Revision, build: str | None) -> str:
    """A tree that was built fits one environment only, and the folder it was built in."""
    facts = [revision.sha, sys.implementation.cache_tag or "", _abi()]
    if build is not None:
        facts += [build, head.prefix, sys.prefix]
    return f"{revision.sha[:SHORT]}-{slots.digest(*facts)}"


def _abi() -> str:
    return sysconfig.get_config_var("SOABI") or sysconfig.get_platform()


def _write_afresh(slot: slots.Slot, checkout: Checkout, prefix: str, build: str | None) -> None:
    if slot.path.exists():
        shutil.rmtree(slot.path)
    for ending in (COMPLETE, OVERLAID, LOG):
        slot.beside(ending).unlink(missing_ok=True)
    checkout.write_all(slot.path)
    root = slot.path / prefix
    root.mkdir(parents=True, exist_ok=True)  # a folder that is new at head
    if build is not None:
        # In its final place, because builds write absolute paths into what they make.
        run_build(build, slot.path, root, slot.beside(LOG))
    slot.beside(COMPLETE).write_text(json.dumps({"build": build}), encoding="utf-8")


def _placed(head: Repository, overlay: Iterable[Path]) -> dict[str, Path]:
    named = {path: head.relative(path) for path in overlay}
    outside = next((path for path, name in named.items() if name is None), None)
    if outside is not None:
        raise RevisionError(
            f"{outside} lies outside the repository {head.top}, so it cannot be run on the base "
            "revision; move it into the repository or leave it out of this run."
        )
    return {name: path for path, name in named.items() if name is not None}


def _generated(top: Path, slot: slots.Slot, checkout: Checkout) -> Mapping[str, Path]:
    """Ignored Python files of head that the base lacks, such as a `_version.py` that an
    installation wrote. Compiled files stay behind: they would measure head twice.
    """
    tracked = set(listed(top, "--", "*.py"))
    folders = {PurePosixPath(path).parent for path in tracked}
    near = (str(folder / name) for folder in folders for name in _python_files(top / folder))
    placed = read_manifest(slot.beside(OVERLAID))
    lacking = {
        path
        for path in near
        if path not in tracked | checkout.tracked
        and (slot.path / path).parent.is_dir()
        and (path in placed or not (slot.path / path).exists())
    }
    return {path: top / path for path in sorted(ignored(top, lacking))}


def _python_files(folder: Path) -> list[str]:
    if not folder.is_dir():  # tracked, but deleted from the working tree
        return []
    return [entry.name for entry in os.scandir(folder) if entry.name.endswith(".py")]


def _removed(head: Repository, overlay: Iterable[Path], checkout: Checkout) -> list[str]:
    stale = (head.relative(path) for path in stale_files(head.root, overlay))
    return [path for path in stale if path is not None and path in checkout.tracked]


def _notices(checkout: Checkout) -> tuple[str, ...]:
    if not checkout.submodules:
        return ()
    names = ", ".join(checkout.submodules)
    return (
        f"Submodules are not laid out in the base tree ({names}); where benchmarks need them, "
        "have rlperf_build fetch them into $RLPERF_TREE.",
    )
