"""Which commit `--rlperf-against` means, and what state the working tree is in."""

from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.launch.git import GitFailed, git, git_or_none, top_level

MERGE_BASE = "..."
SHORT = 7
"""Letters of a commit's name that people read."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit to compare with."""

    ref: str  # as the user wrote it
    sha: str
    label: str  # for people: "main (1a2b3c4)"


@dataclass(frozen=True, slots=True)
class WorkingState:
    """The commit under the working tree, if any, and whether the tree differs from it."""

    sha: str | None
    dirty: bool


def resolve(root: Path, ref: str) -> Revision:
    """`REF` is that commit, `REF...` the merge base of it and HEAD."""
    name = ref.removesuffix(MERGE_BASE)
    _refuse_malformed(ref, name)
    top_level(root)  # says clearly where there is no repository
    sha = _commit(root, name)
    if name == ref:
        return Revision(ref, sha, _label(name, sha))
    base = _merge_base(root, name, sha)
    return Revision(ref, base, f"merge base with {_label(name, base)}")


def working_state(root: Path, besides: Path | None = None) -> WorkingState:
    """Untracked Python files count as a difference: they can be imported. What lies in the folder
    `besides` does not.
    """
    try:
        sha = git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
        where = _all_but(root, besides)
        changed = git(root, "status", "--porcelain", "--untracked-files=no", *where)
        new = git(root, "ls-files", "--others", "--exclude-standard", "--", "*.py")
    except (GitFailed, RevisionError):
        return WorkingState(None, False)
    return WorkingState(sha, bool(changed or new))


def _all_but(root: Path, folder: Path | None) -> tuple[str, ...]:
    """As pathspecs of git, which refuses one that lies outside of the repository."""
    if folder is None or not folder.resolve().is_relative_to(top_level(root)[0].resolve()):
        return ()
    return ("--", ":/", f":(exclude,literal){folder.resolve()}")


def _refuse_malformed(ref: str, name: str) -> None:
    if not name.strip() or "\0" in name:
        raise RevisionError(
            f"{ref!r} names no revision; give a branch, tag or commit, such as "
            "--rlperf-against=main."
        )
    if name.startswith("-"):
        raise RevisionError(
            f"The revision {ref!r} begins with a dash, which git would read as an option; give a "
            "branch, tag or commit, such as --rlperf-against=main."
        )


def _commit(root: Path, name: str) -> str:
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    sha = git_or_none(root, *verify, f"{name}^{{commit}}")
    if sha:
        return sha
    raise RevisionError(f"The revision {name!r} is not in this repository; {_hint(root, name)}.")


def _hint(root: Path, name: str) -> str:
    pattern = f"refs/remotes/*/{name}"
    remote = git_or_none(root, "for-each-ref", "--count=1", "--format=%(refname:short)", pattern)
    if remote:
        return f"did you mean {remote!r}"
    if _is_shallow(root):
        return f"it is a shallow clone: {_UNSHALLOW}"
    return "see `git branch --all` and `git tag`, or fetch it first"


_UNSHALLOW = "run `git fetch --unshallow`, or in CI check out with fetch-depth: 0"


def _merge_base(root: Path, name: str, sha: str) -> str:
    if base := git_or_none(root, "merge-base", sha, "HEAD"):
        return base.splitlines()[0]
    why = f"HEAD and {name!r} have no common ancestor"
    if _is_shallow(root):
        raise RevisionError(f"{why} in this shallow clone; {_UNSHALLOW}.")
    raise RevisionError(f"{why}; compare with the commit itself: --rlperf-against={name}.")


def _is_shallow(root: Path) -> bool:
    return git_or_none(root, "rev-parse", "--is-shallow-repository") == "true"


def _label(name: str, sha: str) -> str:
    """A commit given by its own name needs no second one."""
    return sha[:SHORT] if sha.startswith(name) else f"{name} ({sha[:SHORT]})"
