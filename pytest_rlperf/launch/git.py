"""Calling git: nothing it is asked here changes the user's repository."""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_rlperf.errors import RevisionError

HOOK_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
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
    """The environment without a calling hook's variables, in English, asking no questions."""
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
    """The standard output of `git args` in `folder`; raises GitFailed."""
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
    if done.returncode:
        raise GitFailed(os.fsdecode(done.stderr).strip())
    return os.fsdecode(done.stdout)


def git_or_none(folder: Path, *args: str) -> str | None:
    """The stripped output, or None where git says no."""
    try:
        return git(folder, *args).strip()
    except GitFailed:
        return None


def top_level(root: Path) -> tuple[Path, str]:
    """The repository's top level, and `root` relative to it ("" when they are the same)."""
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
    """The paths, relative to the top level, that `git ls-files args` names."""
    return _split(git(top, "ls-files", "-z", *args, env=env))


def hooks_folder(top: Path) -> Path:
    """Where git looks for hooks: shared by all worktrees, or wherever core.hooksPath says."""
    return top / git(top, "rev-parse", "--git-path", "hooks", settings=()).removesuffix("\n")


def ignored(top: Path, paths: Iterable[str]) -> set[str]:
    """Those of `paths` that are ignored and not tracked."""
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
