"""Files on a branch of their own, written without a checkout.

Blobs, a tree in an index of our own, a commit and a reference are all that is made: working tree,
index and HEAD stay as they are. A reference moves only from the commit that was read, so of two
writers one sees that it came second, and begins again from what the other left.
"""

import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.leaving import temporary_folder
from pytest_rlperf.trees.git import GitFailed, files_at, git, git_or_none

ATTEMPTS = 20
"""Each time another writer got ahead: it then is done, so that many need as many others at once."""
PAUSE_S = 0.2
NOBODY = {
    "GIT_AUTHOR_NAME": "pytest-rlperf",
    "GIT_AUTHOR_EMAIL": "pytest-rlperf@localhost",
    "GIT_COMMITTER_NAME": "pytest-rlperf",
    "GIT_COMMITTER_EMAIL": "pytest-rlperf@localhost",
}
"""Who commits where git knows nobody, as in a container."""
MOVED_HERE = ("but expected", "reference already exists", "File exists")
"""What git says of a reference that another process moves or moved."""
MOVED_AT_REMOTE = (
    *MOVED_HERE, "non-fast-forward", "fetch first", "failed to update ref", "incorrect old value"
)  # fmt: skip
"""The same of a push; the last is git's from 2.50 on."""
LOCK = re.compile(r"Unable to create '([^'\n]+\.lock)'")

Files = Mapping[str, bytes]
"""The content of files by their path."""
Change = Callable[[Files], Files]
"""Turns what is there into the files that are to be written; none: there is nothing to do."""
Union = Callable[[Files, Files], Files]
"""Makes one set of files of those of two commits."""


class DataBranchError(RlperfError):
    """The branch cannot be written or sent."""


@dataclass(frozen=True, slots=True)
class DataBranch:
    """`name` in the repository around `repository`; only files under `folder` are looked at."""

    repository: Path
    name: str
    folder: str

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.name}"

    @classmethod
    def checked(cls, repository: Path, name: str, folder: str) -> Self:
        """Return the branch; refuse a place or a name where there can be none."""
        try:
            git(repository, "rev-parse", "--git-dir")
        except GitFailed as error:
            raise UsageError(
                f"git finds no repository at {repository} ({_on_a_line(error)}), so there is "
                "no branch for the history; run it in a clone, or name a file with --file."
            ) from error
        if git_or_none(repository, "check-ref-format", "--branch", name) != name:
            raise UsageError(
                f"--branch is {name!r}, which is no name of a branch; try rlperf-data."
            )
        return cls(repository, name, folder)

    def check_writable(self) -> None:
        """Refuse a branch whose commits are somebody's code, or are being looked at."""
        if self.has(self.ref) and git_or_none(self.repository, "merge-base", self.ref, "HEAD"):
            raise UsageError(
                f"the branch {self.name!r} is one of your code; the history needs a branch of its "
                "own, such as --branch=rlperf-data."
            )
        trees = git(self.repository, "worktree", "list", "--porcelain").splitlines()
        if f"branch {self.ref}" in trees:
            raise UsageError(
                f"the branch {self.name!r} is checked out, and writing it would leave that working "
                "tree behind; check out another one first."
            )

    def has(self, ref: str) -> bool:
        return _commit(self.repository, ref) is not None

    @property
    def tip(self) -> str | None:
        return _commit(self.repository, self.ref)

    def tracked(self, remote: str) -> str:
        """Name the reference under which this repository keeps what it fetched of the branch."""
        return f"refs/remotes/{remote}/{self.name}"

    def read(self, revision: str) -> dict[str, bytes]:
        return files_at(self.repository, revision, self.folder)

    def update(self, change: Change, message: str) -> None:
        """Commit what `change` makes of the files, on top of whatever others wrote meanwhile."""
        for _ in self._attempts("written"):
            tip = self.tip
            files = change({} if tip is None else self.read(tip))
            if not files or self._move(tip, self._commit_of(files, message, tip)):
                return

    def merge(self, other: str, union: Union, message: str) -> None:
        """Bring in the commit `other`: what is in either is in the branch then."""
        for _ in self._attempts("written"):
            tip = self.tip
            if tip is None or _is_ancestor(self.repository, tip, other):
                if self._move(tip, other):
                    return
                continue
            if _is_ancestor(self.repository, other, tip):
                return
            files = union(self.read(other), self.read(tip))
            if self._move(tip, self._commit_of(files, message, other, tip)):
                return

    def fetch(self, remote: str) -> str | None:
        """Return the remote's commit; None: it does not have the branch."""
        if remote not in git(self.repository, "remote").splitlines():
            raise UsageError(
                f"{remote!r} is no remote of this repository; add it with `git remote add`, or "
                "name one of `git remote`."
            )
        for _ in self._attempts(f"fetched from {remote!r}", remote):
            try:
                return self._fetch(remote)
            except GitFailed as error:
                if not any(words in error.stderr for words in MOVED_HERE):
                    raise DataBranchError(
                        f"the branch {self.name!r} cannot be fetched from {remote!r} "
                        f"({_on_a_line(error)}); check `git remote -v` and your access."
                    ) from error
        return None

    def _fetch(self, remote: str) -> str | None:
        here, kept = self.repository, self.tracked(remote)
        if not git(here, "ls-remote", "--heads", "--", remote, self.ref).strip():
            return None
        shallow = git_or_none(here, "rev-parse", "--is-shallow-repository") == "true"
        # In a full clone this would make everything shallow.
        depth = ("--depth=1",) if shallow else ()
        git(here, "fetch", "--quiet", "--no-tags", *depth, "--", remote, f"+{self.ref}:{kept}")
        return _commit(here, kept)

    def pull(self, remote: str, union: Union, message: str) -> None:
        """Bring in what the remote has."""
        theirs = self.fetch(remote)
        if theirs is not None:
            self.merge(theirs, union, message)

    def push(self, remote: str, union: Union, message: str) -> None:
        """Send the branch; what others sent meanwhile is brought in."""
        refusals: list[str] = []
        for attempt in self._attempts(f"pushed to {remote!r}", remote, refusals):
            if attempt:
                self.pull(remote, union, message)
            try:
                git(self.repository, "push", "--quiet", "--", remote, f"{self.ref}:{self.ref}")
                return
            except GitFailed as error:
                refusals.append(error.stderr)
                if not any(words in error.stderr for words in MOVED_AT_REMOTE):
                    raise DataBranchError(
                        f"the branch {self.name!r} cannot be pushed to {remote!r} "
                        f"({_on_a_line(error)}); nothing is lost: what was appended is on the "
                        "branch here, and appending it again sends it."
                    ) from error

    def _attempts(
        self, done: str, remote: str | None = None, refusals: Sequence[str] = ()
    ) -> Iterator[int]:
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, PAUSE_S))
            yield attempt
        locks = (*self._locks(remote), *_locks_there(remote, refusals))
        why = locks[0] if locks else f"others were faster in {ATTEMPTS} attempts; "
        raise DataBranchError(f"the branch {self.name!r} could not be {done}: {why}append again.")

    def _locks(self, remote: str | None) -> Iterator[str]:
        """Yield a sentence on each file by which git keeps others from moving what we move. Git
        holds one for a moment, and one that is killed leaves it for ever.
        """
        refs = [self.ref] if remote is None else [self.ref, self.tracked(remote)]
        for name in (*refs, "packed-refs", "shallow"):
            path = git_or_none(self.repository, "rev-parse", "--git-path", f"{name}.lock")
            with suppress(OSError):  # no such file
                lock = self.repository / (path or "")
                age = _age(time.time() - lock.stat().st_mtime)
                yield (
                    f"git's lock {lock} is there, made {age} ago by {_owner(lock)}; if no git is "
                    "at work in this repository, a killed one left it: remove that file, and "
                )

    def _move(self, old: str | None, new: str) -> bool:
        """Move the branch from `old` to `new`; False: it is not where it was read."""
        try:
            git(self.repository, "update-ref", "-m", "rlperf history", self.ref, new, old or "")
        except GitFailed as error:
            if any(words in error.stderr for words in MOVED_HERE):
                return False
            raise DataBranchError(
                f"the branch {self.name!r} cannot be written ({_on_a_line(error)}); make the "
                "repository writable, or keep the history in a file with --file."
            ) from error
        return True

    def _commit_of(self, files: Files, message: str, *parents: str | None) -> str:
        known = [parent for parent in parents if parent is not None]
        tree = self._tree(files, known)
        onto = [word for parent in known for word in ("-p", parent)]
        env = {} if _has_identity(self.repository) else NOBODY
        return git(self.repository, "commit-tree", tree, *onto, "-m", message, env=env).strip()

    def _tree(self, files: Files, onto: Sequence[str]) -> str:
        """Write a tree of what is in any of the commits, the first counting, and of these files."""
        here = self.repository
        with _own_index() as env:
            git(here, "read-tree", "--empty", env=env)
            for commit in reversed(onto):
                listed = os.fsencode(git(here, "ls-tree", "-r", "-z", "--full-tree", commit))
                git(here, "update-index", "-z", "--index-info", stdin=listed, env=env)
            for path, content in files.items():
                blob = git(here, "hash-object", "-w", "--stdin", stdin=content).strip()
                entry = f"100644,{blob},{path}"
                git(here, "update-index", "--add", "--cacheinfo", entry, env=env)
            return git(here, "write-tree", env=env).strip()


@contextmanager
def _own_index() -> Iterator[dict[str, str]]:
    with temporary_folder("index") as folder:
        yield {"GIT_INDEX_FILE": str(folder / "index")}


def _commit(repository: Path, ref: str) -> str | None:
    return git_or_none(repository, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")


def _age(seconds: float) -> str:
    for unit, one in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * one:
            return f"{seconds / one:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _locks_there(remote: str | None, refusals: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on each such file of the remote, as its last refusal names them."""
    for lock in LOCK.findall("".join(refusals[-1:])):
        yield (
            f"git's lock {lock} is there, in {remote!r}; if no git is at work in it, a killed one "
            "left it: remove that file, and "
        )


def _owner(file: Path) -> str:
    try:
        return file.owner()
    except KeyError:  # as whoever runs a container often is
        return f"user {file.stat().st_uid}, who has no name here"


def _is_ancestor(repository: Path, older: str, newer: str) -> bool:
    return git_or_none(repository, "merge-base", "--is-ancestor", older, newer) is not None


def _has_identity(repository: Path) -> bool:
    roles = ("AUTHOR", "COMMITTER")
    return all(git_or_none(repository, "var", f"GIT_{role}_IDENT") for role in roles)


def _on_a_line(error: GitFailed) -> str:
    return " ".join(error.stderr.split())
