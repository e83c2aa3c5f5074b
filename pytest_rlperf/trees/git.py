"""Calling git, which revision a name means, and what state the working tree is in.

Nothing that git is asked here changes the user's repository.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.errors import RevisionError

HOOK_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)  # fmt: skip
"""What git hands to its hooks: inside one, they would point us at another index or folder.
GIT_CONFIG_* stays, because a container may keep `safe.directory` there."""

QUIET = (
    # A split index or a hook (post-index-change) would write into the user's repository.
    *("-c", "core.splitIndex=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
)


class GitFailed(RevisionError):
    """A git command that did not succeed; callers turn it into a sentence of their own."""

    def __init__(self, stderr: str) -> None:
        super().__init__(f"git failed: {stderr!r}; check the repository with `git status`.")
        self.stderr = stderr


def without_hook_variables(inherited: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in inherited.items() if name not in HOOK_VARIABLES}


def clean_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without a calling hook's variables, in English, without questions."""
    env = without_hook_variables(inherited)
    # Without optional locks `git status` does not refresh the user's index.
    return env | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def git(
    folder: Path,
    *args: str,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    settings: Sequence[str] = QUIET,
) -> str:
    """Return the standard output of `git args` in `folder`; raises GitFailed."""
    environment = clean_environment(os.environ) | dict(env or {})
    feed = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    try:
        done = subprocess.run(
            ["git", *settings, *args], cwd=folder, env=environment, capture_output=True, **feed
        )
    except FileNotFoundError as error:
        if not folder.is_dir():
            raise RevisionError(
                f"{folder} does not exist; run pytest in a folder that does."
            ) from error
        raise RevisionError(
            "git was not found, and revisions and branches need it; install git or put it on PATH."
        ) from error
    except ValueError as error:  # a NUL, or half of a character, from a file that somebody wrote
        raise GitFailed(f"git can take no argument such as {args[-1]!r}: {error}") from error
    if done.returncode:
        raise GitFailed(os.fsdecode(done.stderr).strip())
    return os.fsdecode(done.stdout)


def git_or_none(folder: Path, *args: str) -> str | None:
    """Return the stripped output, or None where git says no."""
    try:
        return git(folder, *args).strip()
    except GitFailed:
        return None


NOBODY = ("-c", "user.name=rlperf", "-c", "user.email=rlperf@localhost")


def commit_all(folder: Path, message: str) -> None:
    """Commit all that is in a repository which the gate made for itself: in nobody's name, unsigned
    and past the hooks that somebody has for all repositories.
    """
    git(folder, "add", "--all")
    unsigned = ("-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify")
    git(folder, *NOBODY, *unsigned, "-m", message)


def top_level(root: Path) -> tuple[Path, str]:
    """Return the repository's top level, and `root` relative to it ("" when they are the same)."""
    try:
        top = git(root, "rev-parse", "--show-toplevel")
        prefix = git(root, "rev-parse", "--show-prefix")
    except GitFailed as error:
        raise RevisionError(_no_repository(root, error.stderr)) from error
    return Path(top.removesuffix("\n")), prefix.removesuffix("\n").rstrip("/")


def _no_repository(root: Path, stderr: str) -> str:
    if "dubious ownership" in stderr:
        return (
            f"git refuses to read {root} because another user owns it; allow it with "
            f"`git config --global --add safe.directory {root}`."
        )
    if "not a git repository" in stderr:
        return (
            f"{root} is in no git repository, so there is no revision to compare with; run "
            "pytest inside a clone."
        )
    return f"git cannot work in {root} ({stderr}); --rlperf-against needs a repository's work tree."


def listed(top: Path, *args: str, env: Mapping[str, str] | None = None) -> list[str]:
    """List the paths, relative to the top level, that `git ls-files args` names."""
    return _split(git(top, "ls-files", "-z", *args, env=env))


def listed_at(top: Path, revision: str) -> list[str]:
    """List the paths of all files that a commit has."""
    return _split(git(top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", revision))


def files_at(folder: Path, revision: str, path: str) -> dict[str, bytes]:
    """Return the content of all files below `path` that a commit has, by their path from the top
    level.
    """
    tree = git(folder, "ls-tree", "-r", "-z", "--full-tree", revision, "--", path)
    entries = (entry.partition("\t") for entry in _split(tree))
    return {name: _blob(folder, facts.split()[2]) for facts, _, name in entries}


def _blob(folder: Path, name: str) -> bytes:
    return os.fsencode(git(folder, "cat-file", "blob", name))


def hooks_folder(top: Path) -> Path:
    """Return where git looks for hooks: shared by all worktrees, or where core.hooksPath says."""
    return top / git(top, "rev-parse", "--git-path", "hooks", settings=()).removesuffix("\n")


def ignored(top: Path, paths: Iterable[str]) -> set[str]:
    """Pick those of `paths` that are ignored and not tracked."""
    lines = "".join(f"{path}\0" for path in paths)
    if not lines:
        return set()
    try:
        return set(_split(git(top, "check-ignore", "-z", "--stdin", stdin=os.fsencode(lines))))
    except GitFailed as error:
        if error.stderr:
            raise RevisionError(
                f"git cannot tell which files are ignored: {error.stderr}"
            ) from error
        return set()  # exit status 1 without a word: none of them


def _split(output: str) -> list[str]:
    return [path for path in output.split("\0") if path]


# -- revisions ----------------------------------------------------------------------------------

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
    """Find the commit that `REF` means; `REF...` is the merge base of it and HEAD."""
    name = ref.removesuffix(MERGE_BASE)
    _refuse_malformed(ref, name)
    top_level(root)  # says clearly where there is no repository
    sha = _commit(root, name)
    if name == ref:
        return Revision(ref, sha, _label(name, sha))
    base = _merge_base(root, name, sha)
    return Revision(ref, base, f"merge base with {_label(name, base)}")


def working_state(root: Path, besides: Path | None = None) -> WorkingState:
    """Return the commit and whether the tree differs from it. Untracked Python files count, since
    they can be imported; what lies in the folder `besides` does not.
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
    """Write pathspecs for git, which refuses one that lies outside of the repository."""
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
    """Name a revision for people: a commit given by its own name needs no second one."""
    return sha[:SHORT] if sha.startswith(name) else f"{name} ({sha[:SHORT]})"
