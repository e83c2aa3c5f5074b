"""What the main branch measured, sent to the data branch."""

import os
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path

from pytest_rlperf.commands.ci.credentials import credentials
from pytest_rlperf.errors import UsageError
from pytest_rlperf.store.baseline_branch import FOLDER, BaselineBranch

RESULT = "report.json"
REMOTE = "origin"


def keep(root: Path, branch: str, report: Path, environ: MutableMapping[str, str]) -> str:
    """The history first: it brings in what others sent, and the baselines go on top of that."""
    result = report / RESULT
    if not result.is_file():
        return f"{result} is not there: the run ended before it, so there is nothing to keep."
    environ.update(credentials(environ))
    told = _rlperf("history", "append", str(result), f"--branch={branch}", f"--push={REMOTE}")
    kept = BaselineBranch(root, branch).keep(report / FOLDER, REMOTE)
    _add_to_summary(_rlperf("trend", f"--branch={branch}", "--markdown"), environ)
    files = "1 file" if kept == 1 else f"{kept} files"
    return f"{told}\nkept {files} of baselines on the branch {branch}."


def _rlperf(*words: str) -> str:
    """What the command said; it tells itself what went wrong."""
    command = [sys.executable, "-m", "pytest_rlperf.cli", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise UsageError(f"`rlperf {words[0]}` did not work; what it says stands above.")
    return done.stdout.rstrip("\n")


def _add_to_summary(text: str, environ: MutableMapping[str, str]) -> None:
    """Best effort: the trend can be asked for at any time."""
    name = environ.get("GITHUB_STEP_SUMMARY")
    if name and os.access(name, os.W_OK):
        with open(name, "a", encoding="utf-8") as file:
            file.write(f"\n{text}\n")
