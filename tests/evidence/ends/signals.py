"""Whole runs that are told to end, or killed, at random moments.

Nobody else may run MPI jobs meanwhile: what they leave would be taken for ours. As root
``unshare --mount sh -c 'mount -t tmpfs tmpfs /dev/shm; exec python -m ...'`` makes sure of it.
"""

from __future__ import annotations

import random
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_rlperf import leaving
from tests.evidence.ends.trial import Trial, left_in
from tests.integration.projects import Running, Workshop

LIBRARY = """
def work():
    return sum(range({n}))

def data():
    return list(range(200_000))
"""
TESTS = """
import lib
import pytest

def test_time(rlperf):
    rlperf(lib.work)

def test_memory(rlperf_memory):
    rlperf_memory(lib.data)

@pytest.mark.rlperf_mpi(nprocs=2, timeout=60)
def test_ranks(rlperf_mpi):
    def work():
        lib.work()
        rlperf_mpi.comm.allreduce(1)
    rlperf_mpi(work)
"""
MEASURED = ("--rlperf", "--rlperf-against=base", "--rlperf-budget=30")
RUNS = {
    "duet": (*MEASURED, "--rlperf-profile=off", "-k", "time"),
    "memory": (*MEASURED, "-k", "memory"),
    "profile": (*MEASURED, "--rlperf-profile=functions", "-k", "time"),
    "MPI duet": (*MEASURED, "-k", "ranks"),
    "MPI job": ("-k", "ranks"),
}
SENT = {
    "SIGINT": (signal.SIGINT,),
    "SIGTERM": (signal.SIGTERM,),
    "SIGINT and SIGTERM": (signal.SIGINT, signal.SIGTERM),
    "SIGKILL": (signal.SIGKILL,),
}
WORKERS = ("worker/boot.py", "mpi/boot.py")
LATEST_S = {"duet": 10.0, "memory": 6.0, "profile": 12.0, "MPI duet": 10.0, "MPI job": 4.0}
"""After the start, or the start of the first worker."""
ENDING_S = 60.0


class Signals:
    def __init__(self, folder: Path, rng: random.Random, only: Sequence[str]) -> None:
        self._rng = rng
        self._kinds = [kind for kind in RUNS if not only or kind in only]
        self._project = Workshop(folder).project(
            "signals",
            {"lib.py": LIBRARY.format(n=20_000), "tests/test_perf.py": TESTS},
            {"lib.py": LIBRARY.format(n=40_000)},
            common={"conftest.py": ""},
        )
        tempfile.tempdir = str(folder)  # that of the runs
        self._temporary = folder
        self._done = 0

    def trial(self) -> Trial:
        kind = self._kinds[self._done % len(self._kinds)]
        self._done += 1
        sent = self._rng.choice(list(SENT))
        begun = time.monotonic()
        run = self._start(kind)
        if self._rng.random() < 0.75:  # else it may come up, which takes long on a busy machine
            while run.popen.poll() is None and not _is_measuring(run):
                time.sleep(0.05)
        time.sleep(self._rng.uniform(0.0, LATEST_S[kind]))
        measuring = _is_measuring(run)
        at_s = time.monotonic() - begun
        for number in SENT[sent]:
            if run.popen.poll() is None:
                run.popen.send_signal(number)
                time.sleep(0.05 if len(SENT[sent]) > 1 else 0.0)
        ended = run.wait(ENDING_S)
        if sent == "SIGKILL":
            run.wait_until_gone(10.0)
            with leaving.temporary_folder("next"):
                pass
        trouble = self._left(run)
        keeps = sent != "SIGKILL" and measuring and kind != "MPI job"
        if keeps and ended.result.get("exit_code") != ended.code:
            trouble += f" exit code {ended.code} and no result;"
        when = "while measuring" if measuring else "before or after"
        said = f" at {at_s:.1f} s: {ended.text[-2000:]}" if trouble else ""
        return Trial(kind, f"{sent} {when}", trouble + said)

    def _start(self, kind: str) -> Running:
        written = () if kind == "MPI job" else (f"--rlperf-json={self._project.result}",)
        return self._project.start(*RUNS[kind], *written)

    def _left(self, run: Running) -> str:
        trouble = "".join(f" {name} is left;" for name in left_in(self._temporary))
        trouble += "".join(f" {file} is left;" for file in leaving.left_by_ranks())
        return trouble + "".join(f" process {each.pid} is left;" for each in run.processes())


def _is_measuring(run: Running) -> bool:
    return any(name in command for command in run.commands() for name in WORKERS)
