"""The environment variables of a worker: a pure function of the run's own."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_rlperf.launch.bytecode import FOLDER

THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

SLEEPY_POOLS = {
    # A pool that spins after its work slows the other side's next slice (measured: 1.5x).
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "KMP_BLOCKTIME": "0",
    "OPENBLAS_THREAD_TIMEOUT": "4",
}

HUGE_PAGES = "NUMPY_MADVISE_HUGEPAGE"
"""Off unless the user says otherwise: how much of an array lies in huge pages depends on where it
happens to begin. Blocks of a random gather over 8 MB spread by 7 % with them, by 1.5 % without."""

SCRUBBED = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH", "PYTHONHASHSEED"})
SCRUBBED_PREFIXES = ("COV_CORE_", "COVERAGE_PROCESS", "PYTEST_")
"""Coverage would trace the slices; pytest's own variables belong to the outer session."""

KEPT = frozenset({"PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"})

PADDING = "RLPERF_PADDING"
RUN = "RLPERF_RUN"
"""Marks the processes of a run, however far from its workers they have gone."""


def worker_environment(
    inherited: Mapping[str, str],
    *,
    threads: int,
    hash_seed: int,
    padding: int,
    caches: Path,
    token: str,
    import_folders: Sequence[str],
) -> dict[str, str]:
    """Equal on both sides but for the padding, which moves the stack by a random amount."""
    env = {name: value for name, value in inherited.items() if not _is_scrubbed(name)}
    env.update(dict.fromkeys(THREAD_COUNTS, str(threads)))
    env.update(SLEEPY_POOLS)
    env.setdefault(HUGE_PAGES, "0")
    env["PYTHONHASHSEED"] = str(hash_seed)
    # Bytecode and compiled kernels are kept by the path of their source, so each tree has its
    # own, both sides in the same state, and the user's folders stay clean.
    env["PYTHONPYCACHEPREFIX"] = str(caches / FOLDER)
    env["NUMBA_CACHE_DIR"] = str(caches / "numba")
    # For processes that a test starts itself: they have no import redirection.
    old = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
    env["PYTHONPATH"] = os.pathsep.join([*import_folders, *old])
    env[PADDING] = "x" * padding
    env[RUN] = token
    return env


def _is_scrubbed(name: str) -> bool:
    if name in KEPT:
        return False
    return name in SCRUBBED or name.startswith(SCRUBBED_PREFIXES)
