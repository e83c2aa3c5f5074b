"""Facts about the machine and the libraries that belong beside every measurement."""

import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LIBRARIES = ("pytest-rlperf", "pytest", "numpy", "numba", "torch", "jax")
CPUINFO = Path("/proc/cpuinfo")


def fingerprint(cores: Sequence[int], threads: Mapping[str, int]) -> dict[str, Any]:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 1,
        "pinned_to": list(cores),
        "architecture": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "libraries": library_versions(),
        "threads": dict(threads),
    }


def cpu_model() -> str:
    try:
        for line in CPUINFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def library_versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
