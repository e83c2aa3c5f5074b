"""`rlperf pre-push`: measure what is about to be pushed against the upstream branch."""

import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pytest_rlperf.errors import ExitCode
from pytest_rlperf.leaving import run_to_its_end
from pytest_rlperf.model.quantity import parse_seconds
from pytest_rlperf.trees.git import (
    SHORT,
    git,
    git_or_none,
    top_level,
    without_hook_variables,
    working_state,
)

# -- what is pushed, as git or pre-commit tells it ----------------------------------------------

BRANCH = "refs/heads/"
TAG = "refs/tags/"


@dataclass(frozen=True, slots=True)
class Pushed:
    name: str  # of the branch, for people; HEAD where it has none
    sha: str


def pushed_commits(root: Path, environ: Mapping[str, str], stdin: TextIO) -> list[Pushed]:
    """List the commits of branches; tags, and what is deleted, need no measuring."""
    if sha := environ.get("PRE_COMMIT_TO_REF"):
        name = environ.get("PRE_COMMIT_LOCAL_BRANCH") or "HEAD"
        return [Pushed(name.removeprefix(BRANCH), sha)]
    if stdin.isatty():  # called by hand
        return [Pushed("HEAD", git(root, "rev-parse", "--verify", "HEAD").strip())]
    return list(dict.fromkeys(_listed(stdin)))


def _listed(stdin: TextIO) -> Iterator[Pushed]:
    """Read lines of local name, its commit, remote name, its commit."""
    for line in stdin:
        words = line.split()
        if len(words) == 4:
            name, sha, target, _ = words
            if set(sha) != {"0"} and not target.startswith(TAG):
                yield Pushed(name.removeprefix(BRANCH), sha)


# -- what it is compared with -------------------------------------------------------------------

USUAL = ("main", "master")


@dataclass(frozen=True, slots=True)
class Base:
    sha: str
    label: str  # for people: "origin/main (1a2b3c4)"


def base_of(root: Path, pushed: Pushed, remote: str, wanted: str | None) -> Base | str:
    """Find the merge base with `wanted`, the upstream branch or the remote's main one, in this
    order; or say why there is none.
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
    ref = git_or_none(root, "for-each-ref", "--format=%(upstream)", f"refs/heads/{branch}")
    return _known(root, ref)


def _main_branch(root: Path, remote: str) -> str | None:
    prefix = f"refs/remotes/{remote}/"
    head = git_or_none(root, "symbolic-ref", "--quiet", f"{prefix}HEAD")
    refs = (_known(root, ref) for ref in (head, *(f"{prefix}{name}" for name in USUAL)))
    return next((ref for ref in refs if ref is not None), None)


def _known(root: Path, ref: str | None) -> str | None:
    """Write the reference as people do; None: it was not fetched, or is gone."""
    if not ref or not git_or_none(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"):
        return None
    return ref.removeprefix("refs/remotes/").removeprefix("refs/heads/")


# -- the command --------------------------------------------------------------------------------

BUDGET_S = 60.0


def add_run_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that a hook can be installed with."""
    parser.add_argument(
        "--budget",
        metavar="SECONDS",
        default=f"{BUDGET_S:.0f}",
        help=f"time for the measuring (default {BUDGET_S:.0f})",
    )
    parser.add_argument(
        "--against",
        metavar="REF",
        help="compare with the merge base of this one (default: the branch's upstream)",
    )
    parser.add_argument("pytest_args", metavar="ARG", nargs="*", help="more arguments for pytest")


def as_command_line(arguments: Namespace) -> list[str]:
    """Check these arguments, and write them as words of a command line."""
    words = [f"--budget={parse_seconds(arguments.budget, '--budget'):g}"]
    if arguments.against is not None:
        words.append(f"--against={arguments.against}")
    more = arguments.pytest_args
    return [*words, "--", *more] if more else words


def add_arguments(parser: ArgumentParser) -> None:
    add_run_arguments(parser)
    parser.add_argument(
        "--remote", metavar="NAME", help="where it is pushed to, as git tells its hooks"
    )


def run(arguments: Namespace) -> int:
    budget_s = parse_seconds(arguments.budget, "--budget")
    root = top_level(Path.cwd())[0]
    remote = arguments.remote or os.environ.get("PRE_COMMIT_REMOTE_NAME") or "origin"
    commits = pushed_commits(root, os.environ, sys.stdin)
    bases = [(pushed, base_of(root, pushed, remote, arguments.against)) for pushed in commits]
    measured = [(pushed, base) for pushed, base in bases if isinstance(base, Base)]
    for reason in (base for _, base in bases if isinstance(base, str)):
        _say(f"NOTHING WAS MEASURED: {reason}")
    exit_codes = [
        _check(root, pushed, base, budget_s / len(measured), arguments.pytest_args)
        for pushed, base in measured
    ]
    return max(exit_codes, default=0)


def _check(root: Path, pushed: Pushed, base: Base, budget_s: float, more: Sequence[str]) -> int:
    _say(f"{pushed.name} ({pushed.sha[:SHORT]}) against {base.label}, {budget_s:.0f} s at most")
    state = working_state(root)
    as_it_is = state.sha == pushed.sha and not state.dirty
    command = pytest_command(base.sha, None if as_it_is else pushed.sha, budget_s, more)
    return _judge(run_pytest(command, root))


def run_pytest(command: Sequence[str], root: Path) -> int:
    """Return its exit code. Standard input holds git's list of commits, nothing for pytest."""
    env = without_hook_variables(os.environ)
    return run_to_its_end(command, cwd=root, env=env, stdin=subprocess.DEVNULL).returncode


def pytest_command(base: str, head: str | None, budget_s: float, more: Sequence[str]) -> list[str]:
    """Write the call of pytest; `head` is None where the working tree is what is pushed."""
    return [
        *(sys.executable, "-m", "pytest", "--rlperf", "--rlperf-reached"),
        f"--rlperf-against={base}",
        *([] if head is None else [f"--rlperf-head={head}"]),
        f"--rlperf-budget={budget_s:g}",
        "--rlperf-profile=off",
        *more,
    ]


def _judge(code: int) -> int:
    """Turn the exit code of pytest into that of the hook, which stops a push, and say why."""
    if code == ExitCode.NOTHING_COMPARED:
        _say("nothing could be compared, so the push goes on.")
        return 0
    if code:
        why = "the push was stopped" if code == ExitCode.FAILED else "it could not be measured"
        _say(f"{why}; `git push --no-verify` pushes all the same.")
        return ExitCode.FAILED
    return 0


def _say(text: str) -> None:
    # git shows what a hook writes to either; pytest, which comes after it, writes to this one.
    print(f"rlperf: {text}", flush=True)
