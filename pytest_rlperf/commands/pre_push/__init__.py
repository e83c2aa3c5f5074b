"""`rlperf pre-push`: measure what is about to be pushed against the upstream branch."""

import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from pytest_rlperf.commands.pre_push.base import Base, base_of
from pytest_rlperf.commands.pre_push.pushed import Pushed, pushed_commits
from pytest_rlperf.launch.git import top_level, without_hook_variables
from pytest_rlperf.launch.revision import SHORT, working_state
from pytest_rlperf.model.exit_code import ExitCode
from pytest_rlperf.model.quantity import parse_seconds

BUDGET_S = 60.0


def add_wishes(parser: ArgumentParser) -> None:
    """What a hook can be installed with."""
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


def checked_words(arguments: Namespace) -> list[str]:
    """The same wishes as words of a command line."""
    words = [f"--budget={parse_seconds(arguments.budget, '--budget'):g}"]
    if arguments.against is not None:
        words.append(f"--against={arguments.against}")
    more = arguments.pytest_args
    return [*words, "--", *more] if more else words


def add_arguments(parser: ArgumentParser) -> None:
    add_wishes(parser)
    parser.add_argument(
        "--remote", metavar="NAME", help="where it is pushed to, as git tells its hooks"
    )


def run(arguments: Namespace) -> int:
    budget_s = parse_seconds(arguments.budget, "--budget")
    root = top_level(Path.cwd())[0]
    remote = arguments.remote or os.environ.get("PRE_COMMIT_REMOTE_NAME") or "origin"
    commits = pushed_commits(root, os.environ, sys.stdin)
    found = [(pushed, base_of(root, pushed, remote, arguments.against)) for pushed in commits]
    new = [(pushed, base) for pushed, base in found if isinstance(base, Base)]
    for reason in (base for _, base in found if isinstance(base, str)):
        _say(f"NOTHING WAS MEASURED: {reason}")
    ended = [
        _check(root, pushed, base, budget_s / len(new), arguments.pytest_args)
        for pushed, base in new
    ]
    return max(ended, default=0)


def _check(root: Path, pushed: Pushed, base: Base, budget_s: float, more: Sequence[str]) -> int:
    _say(f"{pushed.name} ({pushed.sha[:SHORT]}) against {base.label}, {budget_s:.0f} s at most")
    state = working_state(root)
    as_it_is = state.sha == pushed.sha and not state.dirty
    command = pytest_command(base.sha, None if as_it_is else pushed.sha, budget_s, more)
    return _verdict(run_pytest(command, root))


def run_pytest(command: Sequence[str], root: Path) -> int:
    """Its exit code. Standard input holds git's list of commits, which is nothing for pytest."""
    env = without_hook_variables(os.environ)
    return subprocess.run(command, cwd=root, env=env, stdin=subprocess.DEVNULL).returncode


def pytest_command(base: str, head: str | None, budget_s: float, more: Sequence[str]) -> list[str]:
    """`head` is None where the working tree is what is pushed."""
    return [
        *(sys.executable, "-m", "pytest", "--rlperf", "--rlperf-reached"),
        f"--rlperf-against={base}",
        *([] if head is None else [f"--rlperf-head={head}"]),
        f"--rlperf-budget={budget_s:g}",
        "--rlperf-profile=off",
        *more,
    ]


def _verdict(code: int) -> int:
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
