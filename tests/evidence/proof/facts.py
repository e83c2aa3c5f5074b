"""Machine, versions and revision: what a figure is worth nothing without."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .records import Facts

REPOSITORY = Path(__file__).parents[3]
PLUGIN_FOLDER = "pytest_rlperf"


def collect() -> Facts:
    return Facts(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=plugin_commit(REPOSITORY),
        machine=cpu_model(),
        cores=core_count(),
        python=platform.python_version(),
        numpy=installed("numpy"),
        pytest_benchmark=installed("pytest-benchmark"),
    )


def installed(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "absent"


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of these distributions."""
    return {
        "python": platform.python_version(),
        **{each: installed(each) for each in distributions},
    }


def cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    return model_name(text) or platform.processor() or platform.machine()


def model_name(cpuinfo: str) -> str:
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return ""


def core_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def plugin_commit(repository: Path) -> str:
    """The revision measured; ``-dirty`` where the plugin's own files differ from it."""
    commit = _git(repository, "rev-parse", "--short=12", "HEAD").strip()
    return commit + _mark_of_changes(repository, PLUGIN_FOLDER)


def tree_of(repository: Path, folder: str) -> str:
    """Git's name for what is in the folder: the same in every commit that left it alone."""
    tree = _git(repository, "rev-parse", "--short=12", f"HEAD:{folder}").strip()
    return tree + _mark_of_changes(repository, folder)


def _mark_of_changes(repository: Path, folder: str) -> str:
    return "-dirty" if _git(repository, "status", "--porcelain", "--", folder).strip() else ""


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", *arguments]
    return subprocess.run(
        command, cwd=repository, check=True, capture_output=True, text=True
    ).stdout
