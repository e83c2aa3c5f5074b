"""Child processes with a deadline, and the load that runs beside them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from .facts import REPOSITORY
from .load import die_with_parent

# For a run that was asked to stop, to end its own workers.
GRACE_S = 10.0
# Until the load's processes have filled their buffers.
LOAD_START_S = 1.5
TAIL_CHARACTERS = 3000


class LoadEndedError(RuntimeError):
    """The load stopped by itself: what was measured meanwhile does not count."""


@dataclass(frozen=True)
class Ended:
    """How a child ended; ``code`` is None where the deadline ended it."""

    code: int | None
    seconds: float
    tail: str


def run(argv: Sequence[str], cwd: Path, env: Mapping[str, str], deadline_s: float) -> Ended:
    """Run to the end or the deadline, and leave no process behind either way."""
    own_pid = os.getpid()
    # A file, not a pipe: a grandchild that lives on cannot keep it from being read.
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: die_with_parent(own_pid),
        )
        try:
            code: int | None = process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_tree(process)
        seconds = time.monotonic() - started
        output.seek(0)
        text = output.read().decode("utf-8", errors="replace")
    return Ended(code, seconds, text[-TAIL_CHARACTERS:])


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """Ask first, then kill the process with all that it started."""
    if process.poll() is not None:
        return
    descendants = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    for child in descendants:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    process.kill()
    process.wait()


def suite_environment(scratch: Path) -> dict[str, str]:
    """The caller's environment without what would bend the run; caches go to ``scratch``."""
    bending = ("PYTEST_ADDOPTS", "PYTHONPATH", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in bending}
    # The gate sets one BLAS thread itself; both tools are to do the same work.
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return {**kept, **threads, "XDG_CACHE_HOME": str(scratch)}


class Load:
    """The running load script, or none."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process

    def check(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise LoadEndedError("the load ended by itself; start the same command again")


@contextmanager
def running_load(wanted: bool, seed: int) -> Iterator[Load]:
    if not wanted:
        yield Load(None)
        return
    argv = [sys.executable, "-m", "tests.evidence.proof.load"]
    argv += ["--seed", str(seed), "--parent", str(os.getpid())]
    process = subprocess.Popen(argv, cwd=REPOSITORY, stdin=subprocess.DEVNULL)
    try:
        time.sleep(LOAD_START_S)
        yield Load(process)
    finally:
        process.terminate()
        process.wait()
