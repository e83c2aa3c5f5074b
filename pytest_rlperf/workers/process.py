"""A worker process: its environment, a pure function of the run's own; started on its core, and
stopped with everything it started.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from pytest_rlperf.environments.environment import Environment
from pytest_rlperf.machine.host import fixed_addresses
from pytest_rlperf.trees.cache import BYTECODE_FOLDER, KERNELS_FOLDER, digest

# -- the environment -----------------------------------------------------------------------------

THREAD_COUNTS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip

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
"""Moves the stack by a random amount."""
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
    environment: Environment | None = None,
) -> dict[str, str]:
    """Make a worker's environment, equal on both sides but for padding, which moves the stack, and
    for what finds another Python, where one side has its own.
    """
    env = {name: value for name, value in inherited.items() if not _is_scrubbed(name)}
    env.update(dict.fromkeys(THREAD_COUNTS, str(threads)))
    env.update(SLEEPY_POOLS)
    env.setdefault(HUGE_PAGES, "0")
    env["PYTHONHASHSEED"] = str(hash_seed)
    # Bytecode and compiled kernels are kept by the path of their source, so each tree has its
    # own, both sides in the same state, and the user's folders stay clean.
    env["PYTHONPYCACHEPREFIX"] = str(caches / BYTECODE_FOLDER)
    env["NUMBA_CACHE_DIR"] = str(caches / KERNELS_FOLDER)
    # For processes that a test starts itself: they have no import redirection.
    old = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
    env["PYTHONPATH"] = os.pathsep.join([*import_folders, *old])
    if environment is not None:
        env.pop("PYTHONHOME", None)
        folder = os.path.dirname(environment.executable)
        env["PATH"] = os.pathsep.join([folder, env.get("PATH", os.defpath)])
        # Of another Numba, which would not read head's kernels, and write its own in their place.
        env["NUMBA_CACHE_DIR"] = str(caches / KERNELS_FOLDER / digest(environment.executable))
    env[PADDING] = "x" * padding
    env[RUN] = token
    return env


def _is_scrubbed(name: str) -> bool:
    if name in KEPT:
        return False
    return name in SCRUBBED or name.startswith(SCRUBBED_PREFIXES)


# -- the process ---------------------------------------------------------------------------------

TAIL_BYTES = 8_000
STACKS_S = 0.5
END_S = 5.0


@contextmanager
def on_cores(cores: Sequence[int]) -> Iterator[None]:
    """Start processes on `cores`: a child inherits the affinity of the thread that makes it."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Process:
    """A child in a session of its own, with its output in files."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        cores: Sequence[int],
        fds: Sequence[int],
        log: Path,
    ) -> None:
        self._log = log
        self._seen_bytes = 0
        with log.open("wb") as output, on_cores(cores), fixed_addresses():
            # A session of its own: Ctrl+C reaches the controller only, which ends the rest.
            self._popen = subprocess.Popen(
                argv,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=tuple(fds),
                start_new_session=sys.platform != "win32",
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def ended(self) -> bool:
        return self._popen.poll() is not None

    @property
    def status(self) -> int | None:
        """The exit status, or less than zero for a signal; None: it still runs."""
        return self._popen.poll()

    def how_it_ended(self) -> str:
        """Return "exit status 3" or "signal SIGSEGV"; wait a moment for a process about to end."""
        try:
            status = self._popen.wait(END_S)
        except subprocess.TimeoutExpired:
            return "closed its connection but still runs"
        if status < 0:
            with suppress(ValueError):
                return f"signal {signal.Signals(-status).name}"
        return f"exit status {status}"

    def mark_output(self) -> None:
        """Remember where its output ends: what it printed so far is none of the next test's."""
        self._seen_bytes = self._log.stat().st_size

    def output_tail(self) -> str:
        """Return the last of what it printed since the mark."""
        with suppress(OSError), self._log.open("rb") as file:
            file.seek(max(self._seen_bytes, self._log.stat().st_size - TAIL_BYTES))
            return file.read().decode(errors="replace").strip()
        return ""

    def dump_stacks(self) -> None:
        """Ask for the stacks of all threads; they appear in the output."""
        if hasattr(signal, "SIGUSR1") and not self.ended:
            self._popen.send_signal(signal.SIGUSR1)
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(STACKS_S)

    def wait(self, seconds: float) -> bool:
        """Wait for its end, and tell whether it came within that time."""
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        return self.ended

    def terminate(self) -> None:
        """Ask it to end."""
        self._popen.terminate()

    def end(self, grace_s: float = 0.0) -> None:
        """Stop the process and all its descendants; return when none is left."""
        if grace_s:
            self.wait(grace_s)
        family = self._family()
        for member in family:
            with suppress(psutil.Error):
                member.kill()
        if hasattr(os, "killpg"):
            with suppress(OSError):  # descendants whose parents have ended already
                os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        _wait_until_gone(family)

    def _family(self) -> list[psutil.Process]:
        try:
            own = psutil.Process(self._popen.pid)
            return [own, *own.children(recursive=True)]
        except psutil.Error:
            return []


def marked(token: str, name: str = RUN) -> list[psutil.Process]:
    """Return the processes that carry this mark in their environment."""
    return [process for process in psutil.process_iter() if _mark(process, name) == token]


def end_marked(token: str, name: str = RUN) -> list[int]:
    """End what carries this mark, such as what tests of a run left behind in sessions of their own;
    return the ids of those that would not end.
    """
    left = marked(token, name)
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    _wait_until_gone(left)
    return [process.pid for process in left if _runs(process)]


def _mark(process: psutil.Process, name: str) -> str | None:
    try:
        return process.environ().get(name) if process.pid != os.getpid() else None
    except (psutil.Error, OSError):  # gone, or somebody else's
        return None


def _wait_until_gone(processes: Sequence[psutil.Process]) -> None:
    """Wait until none runs. A zombie is gone: in a container nobody may ever reap it."""
    until = time.monotonic() + END_S
    while any(map(_runs, processes)) and time.monotonic() < until:
        time.sleep(0.005)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
