"""A checkout of the base revision beside the user's repository, which is not touched.

It is built where `rlperf_build` says how, and head's benchmark files are laid over it. The same
command builds the working tree before it is measured.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Self

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.files import private_folder
from pytest_rlperf.trees import cache as slots
from pytest_rlperf.trees.git import (
    SHORT,
    Revision,
    clean_environment,
    git_or_none,
    ignored,
    listed,
    top_level,
)
from pytest_rlperf.trees.overlay import Checkout, apply_patch, read_manifest, stale_files

COMPLETE, OVERLAID, INDEX, LOG = ".complete", ".overlaid", ".index", ".log"
"""Files beside a tree. The first is written last: a tree without it is a crash's remains."""


@dataclass(frozen=True)
class Repository:
    """The place of head: pytest's root folder, and the repository around it."""

    root: Path
    top: Path
    prefix: str  # of the root inside the top level; "" where they are the same

    @classmethod
    def around(cls, root: Path) -> Self:
        return cls(Path(os.path.abspath(root)), *top_level(root))

    def relative(self, path: Path) -> str | None:
        """Return `path` as git names it, or None outside the repository."""
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
    generated: tuple[str, ...]  # files of head that git ignores
    _slot: slots.Slot = field(repr=False, compare=False)

    def counterpart(self, path: Path) -> Path:
        """Return where a path of head lies in this tree; one outside the repository stays."""
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
    slots.prune(cache, slots.cache_limit(os.environ))
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
        generated=tuple(generated),
        _slot=slot,
    )


def _key(head: Repository, revision: Revision, build: str | None) -> str:
    """Name the slot: a tree that was built fits one environment, and the folder it was built in."""
    abi = sysconfig.get_config_var("SOABI") or sysconfig.get_platform()
    facts = [revision.sha, sys.implementation.cache_tag or "", abi]
    if build is not None:
        facts += [build, head.prefix, sys.prefix]
    return f"{revision.sha[:SHORT]}-{slots.digest(*facts)}"


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
    """Find ignored Python files of head that the base lacks, such as a `_version.py` that an
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


# -- building a tree ----------------------------------------------------------------------------

DEADLINE_S = 3600
LAST_LINES = 15


def run_build(
    command: str, tree: Path, folder: Path, log: Path, deadline_s: float = DEADLINE_S
) -> None:
    """Run the command by the shell in `folder` of `tree`; its output goes to `log`."""
    status = _run(command, folder, build_environment(os.environ, tree), log, deadline_s)
    if status == 0:
        return
    how = f"took longer than {deadline_s:g} s" if status is None else f"ended with status {status}"
    raise RevisionError(
        f"Building {tree} with rlperf_build ({command}) {how}; repair the command, or see all of "
        f"its output in {log}. It ended with:\n{_tail(log)}"
    )


def build_working_tree(command: str, root: Path, cache: Path) -> None:
    """Build head in place: what is compiled in it may be older than its source, or missing."""
    top = git_or_none(root, "rev-parse", "--show-toplevel")
    private_folder(cache)
    tree = root if top is None else Path(top.removesuffix("\n"))
    run_build(command, tree, root, cache / "head-build.log")


def build_environment(inherited: Mapping[str, str], tree: Path) -> dict[str, str]:
    """Make `python` and `pip` those of this run, even where its environment is not activated."""
    env = clean_environment(inherited) | {"RLPERF_TREE": str(tree)}
    folders = [os.path.dirname(sys.executable), inherited.get("PATH", os.defpath)]
    return env | {"PATH": os.pathsep.join(folders)}


def _run(
    command: str, folder: Path, env: Mapping[str, str], log: Path, deadline_s: float
) -> int | None:
    """Return the exit status, or None at the deadline."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:  # at the deadline, or at Ctrl+C
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)  # a shell's children outlive it otherwise
    else:
        process.kill()
    process.wait()


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-LAST_LINES:]) or "(no output)"
