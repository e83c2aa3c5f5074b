"""Facts about the machine and the libraries that belong beside every measurement.

Some of them decide whether a stored time may be compared with, and those of `MACHINE` name its
folder.
"""

import hashlib
import importlib.metadata
import os
import platform
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pytest_rlperf.machine.cpu import cpu_name, read_cpu
from pytest_rlperf.machine.host import can_fix_addresses
from pytest_rlperf.model.result import Facts, Fingerprint

LIBRARIES = ("pytest-rlperf", "pytest", "numpy", "numba", "torch", "jax")
CPU = ("vendor", "family", "model", "stepping", "caches", "simd", "threads_per_core")
MACHINE = ("cpu", *CPU, "cores", "architecture")
"""Facts that must all be equal for two machines to be one."""


def read_fingerprint(cores: Sequence[int], threads: Mapping[str, int]) -> Fingerprint:
    """Read the facts of this machine; `cores` are those that are measured on, `threads` by test."""
    return {
        **read_machine(),
        "pinned_to": list(cores),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "python_build": f"{platform.python_version()}, {platform.python_compiler()}",
        "implementation": platform.python_implementation(),
        "libraries": library_versions(),
        "threads": dict(threads),
        "addresses": "fixed" if can_fix_addresses() else "random",
    }


def read_machine() -> Fingerprint:
    """Read the facts that tell this machine from others."""
    return {
        "cpu": cpu_name(),
        **read_cpu(),
        "cores": os.cpu_count() or 1,
        "architecture": platform.machine(),
    }


def machine_facts(fingerprint: Mapping[str, Any]) -> Facts:
    """Pick the facts of the machine that are known."""
    return {name: fingerprint[name] for name in MACHINE if name in fingerprint}


def comparable(fingerprint: Fingerprint, threads: int) -> Facts:
    """Pick the facts that decide whether a stored time may be compared with."""
    libraries = fingerprint["libraries"]
    return {
        **machine_facts(fingerprint),
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


def library_versions() -> dict[str, str]:
    versions = {}
    for name in LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def machine_key(facts: Facts) -> str:
    """Name the folder of a machine: what people know it by, and six digits for all of its facts,
    since a hypervisor calls several CPUs by one name. Older files have no such facts.
    """
    kind = [f"{n[0]}{facts[n]}" for n in ("family", "model", "stepping") if n in facts]
    words = [str(facts["cpu"]), *kind, f"{facts['cores']} cores {facts['architecture']}"]
    if any(name in facts for name in CPU):
        every = "\n".join(f"{name} {facts.get(name)}" for name in MACHINE)
        words.append(hashlib.sha256(every.encode()).hexdigest()[:6])
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")
