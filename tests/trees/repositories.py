"""Real git repositories for the tests of this folder."""

import os
import subprocess
from pathlib import Path

AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def run_git(folder: Path, *args: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *AUTHOR, "-c", "protocol.file.allow=always", *args]
    done = subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(folder: Path, files: dict[str, str], message: str = "change") -> str:
    """Commit these files and everything else in the folder; returns the commit's name."""
    write_files(folder, files)
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return run_git(folder, "rev-parse", "HEAD")


def new_repository(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True)
    run_git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, files, "first")
    return folder
