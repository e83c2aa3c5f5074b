"""The commit that a push is compared with."""

from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.commands.pre_push.pushed import Pushed
from pytest_rlperf.launch.git import git_or_none
from pytest_rlperf.launch.revision import SHORT

USUAL = ("main", "master")


@dataclass(frozen=True, slots=True)
class Base:
    sha: str
    label: str  # for people: "origin/main (1a2b3c4)"


def base_of(root: Path, pushed: Pushed, remote: str, wanted: str | None) -> Base | str:
    """The merge base with `wanted`, the upstream branch or the remote's main one, in this order; or
    why there is none.
    """
    ref = wanted or _upstream(root, pushed.name) or _main_branch(root, remote)
    if ref is None:
        return f"{pushed.name} has no upstream branch; name one with --against."
    sha = git_or_none(root, "merge-base", "--end-of-options", ref, pushed.sha)
    if sha is None:
        return f"{pushed.name} and {ref} have no common ancestor; name another with --against."
    sha = sha.splitlines()[0]
    if sha == pushed.sha:
        return f"{ref} has all of {pushed.name} already."
    return Base(sha, f"{ref} ({sha[:SHORT]})")


def _upstream(root: Path, branch: str) -> str | None:
    told = git_or_none(root, "for-each-ref", "--format=%(upstream)", f"refs/heads/{branch}")
    return _known(root, told)


def _main_branch(root: Path, remote: str) -> str | None:
    prefix = f"refs/remotes/{remote}/"
    head = git_or_none(root, "symbolic-ref", "--quiet", f"{prefix}HEAD")
    refs = (_known(root, ref) for ref in (head, *(f"{prefix}{name}" for name in USUAL)))
    return next((ref for ref in refs if ref is not None), None)


def _known(root: Path, ref: str | None) -> str | None:
    """As people write it; None: it was not fetched, or is gone."""
    if not ref or not git_or_none(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"):
        return None
    return ref.removeprefix("refs/remotes/").removeprefix("refs/heads/")
