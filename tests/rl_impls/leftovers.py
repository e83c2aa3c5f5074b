"""Programs that train for ever, and what is left of them when something ends them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

DEADLINE_S = 60.0
ROOT = Path(__file__).parents[2]
# Of MPI jobs, and of queues of multiprocessing, which tests that run meanwhile use and no runtime.
OF_OTHERS = ("mpich", "sm_segment", "vader_segment", "sem.mp-")


def segments() -> set[str]:
    """Of shared memory; others may come and go meanwhile."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith(OF_OTHERS)}


@contextmanager
def running(source: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], list]]:
    """A program, in a group of its own, and its processes, whose ids are the first line it says."""
    script = folder / "forever.py"
    script.write_text(source)
    program = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    assert program.stdout is not None
    said = program.stdout.readline()
    assert said, program.communicate()[1]
    yield program, [psutil.Process(int(pid)) for pid in said.split()]
    if program.poll() is None:
        program.kill()
    program.communicate()


def assert_all_end(processes):
    _, alive = psutil.wait_procs(processes, timeout=DEADLINE_S)
    assert alive == []
