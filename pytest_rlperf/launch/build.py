"""Running `rlperf_build` in a tree."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.launch.git import clean_environment, git_or_none

DEADLINE_S = 3600
LAST_LINES = 15


def build(
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
    """What is compiled in it may be older than its source, or not there yet."""
    top = git_or_none(root, "rev-parse", "--show-toplevel")
    cache.mkdir(parents=True, exist_ok=True)
    tree = root if top is None else Path(top.removesuffix("\n"))
    build(command, tree, root, cache / "head-build.log")


def build_environment(inherited: Mapping[str, str], tree: Path) -> dict[str, str]:
    """`python` and `pip` are those of this run, even where its environment is not activated."""
    env = clean_environment(inherited) | {"RLPERF_TREE": str(tree)}
    folders = [os.path.dirname(sys.executable), inherited.get("PATH", os.defpath)]
    return env | {"PATH": os.pathsep.join(folders)}


def _run(
    command: str, folder: Path, env: Mapping[str, str], log: Path, deadline_s: float
) -> int | None:
    """The exit status, or None at the deadline."""
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
