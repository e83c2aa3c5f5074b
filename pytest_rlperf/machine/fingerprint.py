"""Facts about the machine and the libraries that belong beside every measurement.

Some of them decide whether a stored time may be compared with, and three name the machine's folder.
"""

import importlib.metadata
import os
import platform
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_rlperf.machine.host import can_fix_addresses
from pytest_rlperf.model.result import Facts, Fingerprint

LIBRARIES = ("pytest-rlperf", "pytest", "numpy", "numba", "torch", "jax")
CPUINFO = Path("/proc/cpuinfo")


def read_fingerprint(cores: Sequence[int], threads: Mapping[str, int]) -> Fingerprint:
    """Read the facts of this machine; `cores` are those that are measured on, `threads` by test."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 1,
        "pinned_to": list(cores),
        "architecture": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "python_build": f"{platform.python_version()}, {platform.python_compiler()}",
        "implementation": platform.python_implementation(),
        "libraries": library_versions(),
        "threads": dict(threads),
        "addresses": "fixed" if can_fix_addresses() else "random",
    }


def comparable(fingerprint: Fingerprint, threads: int) -> Facts:
    """Pick the facts that decide whether a stored time may be compared with."""
    libraries = fingerprint["libraries"]
    return {
        "cpu": fingerprint["cpu"],
        "cores": fingerprint["cores"],
        "architecture": fingerprint["architecture"],
        "implementation": fingerprint["implementation"],
        "python": ".".join(fingerprint["python"].split(".")[:2]),
        "python_build": fingerprint["python_build"],
        "threads": threads,
        "numpy": libraries.get("numpy"),
        "blas": blas_version() if "numpy" in libraries else None,
        "addresses": fingerprint["addresses"],
    }


def blas_version() -> str | None:
    """Name the linear algebra library that numpy was built with, and its version."""
    try:
        from numpy import __config__

        blas = __config__.show(mode="dicts")["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except (ImportError, AttributeError, KeyError, TypeError):
        return None


def cpu_model() -> str:
    try:
        for line in CPUINFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def library_versions() -> dict[str, str]:
    versions = {}
    for name in LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def machine_key(facts: Facts) -> str:
    """Name the folder of a machine: CPU model, cores and architecture as a slug."""
    words = f"{facts['cpu']} {facts['cores']} cores {facts['architecture']}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
