"""What is about to be pushed, as git or pre-commit tells it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pytest_rlperf.launch.git import git

BRANCH = "refs/heads/"
TAG = "refs/tags/"


@dataclass(frozen=True, slots=True)
class Pushed:
    name: str  # of the branch, for people; HEAD where it has none
    sha: str


def pushed_commits(root: Path, environ: Mapping[str, str], stdin: TextIO) -> list[Pushed]:
    """Of branches: what is deleted needs no measuring, and tags name what was pushed before."""
    if sha := environ.get("PRE_COMMIT_TO_REF"):
        return [Pushed(_name(environ.get("PRE_COMMIT_LOCAL_BRANCH") or "HEAD"), sha)]
    if stdin.isatty():  # called by hand
        return [Pushed("HEAD", git(root, "rev-parse", "--verify", "HEAD").strip())]
    return list(dict.fromkeys(_listed(stdin)))


def _listed(stdin: TextIO) -> Iterator[Pushed]:
    """Lines of local name, its commit, remote name, its commit."""
    for line in stdin:
        words = line.split()
        if len(words) == 4:
            name, sha, target, _ = words
            if set(sha) != {"0"} and not target.startswith(TAG):
                yield Pushed(_name(name), sha)


def _name(ref: str) -> str:
    return ref.removeprefix(BRANCH)
