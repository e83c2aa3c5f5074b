"""Programs that train for ever, and what is left of them when something ends them."""

import os
import signal
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


def assert_all_end_with_the_program(program, processes):
    program.kill()
    program.wait(DEADLINE_S)
    assert_all_end(processes)


def assert_ctrl_c_keeps_what_was_learned(program, processes):
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does, to every process
    complaints = _complaints_of_one_that_learned(program)
    assert complaints.count("KeyboardInterrupt") == 1
    assert complaints.count("Traceback") == 1
    assert_all_end(processes)


def assert_one_that_is_killed_ends_all(program, processes, killed):
    killed.kill()
    complaints = _complaints_of_one_that_learned(program)
    assert f"(process {killed.pid}) was killed by SIGKILL" in complaints
    assert_all_end(processes)


def _complaints_of_one_that_learned(program):
    said, complaints = program.communicate(timeout=DEADLINE_S)
    assert said.split() == ["learned", "True"]
    return complaints
