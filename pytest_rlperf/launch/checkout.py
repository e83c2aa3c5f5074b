"""The files of a revision, written elsewhere by way of an index of our own."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.launch.git import GitFailed, git, listed
from pytest_rlperf.launch.revision import Revision

SUBMODULE = "160000"
"""git's file mode of a submodule."""


class Checkout:
    """A revision read into the index file `index`; the user's own index is never opened."""

    def __init__(self, top: Path, revision: Revision, index: Path) -> None:
        self._top = top
        self._revision = revision
        self._env = {"GIT_INDEX_FILE": str(index)}
        for file in (index, index.with_name(f"{index.name}.lock")):  # a killed git leaves its lock
            file.unlink(missing_ok=True)
        self._git("read-tree", revision.sha)
        modes = _modes(listed(top, "--stage", env=self._env))
        self.tracked = frozenset(path for path, mode in modes.items() if mode != SUBMODULE)
        self.submodules = tuple(path for path, mode in modes.items() if mode == SUBMODULE)

    def write_all(self, tree: Path) -> None:
        tree.mkdir(parents=True)
        self._git("checkout-index", "--all", f"--prefix={tree}/")

    def write(self, tree: Path, paths: Iterable[str]) -> None:
        names = "".join(f"{path}\0" for path in paths)
        if names:
            self._git("checkout-index", "-z", "--stdin", "-f", f"--prefix={tree}/", names=names)

    def _git(self, *args: str, names: str | None = None) -> None:
        stdin = None if names is None else os.fsencode(names)
        try:
            git(self._top, *args, stdin=stdin, env=self._env)
        except GitFailed as error:
            raise RevisionError(
                f"{self._revision.label} cannot be laid out: git said {error.stderr!r}; check "
                "that the clone is whole (`git fsck`) and the disk has room."
            ) from error


def _modes(staged: Iterable[str]) -> Mapping[str, str]:
    """Path → mode from lines such as `100644 <hash> 0<tab>path`."""
    split = (line.partition("\t") for line in staged)
    return {path: facts.split(" ", 1)[0] for facts, _, path in split}
