"""Processes that run beside the workers: a core is disturbed on purpose, evenly over blocks and
cores, and none of them lives longer than the run that started it.
"""

import itertools
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

import psutil
import pytest

from pytest_rlperf.gate.partners import SAVE_BLOCKS
from pytest_rlperf.worker import disturbance
from pytest_rlperf.worker.disturbance import COMPUTE, METRONOME, NEIGHBOURS, STREAM, neighbour_of

PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", *sys.argv[1:], str(os.getpid())])
print(child.pid, flush=True)
sys.stdin.read()
"""

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX processes")
scripts = pytest.mark.parametrize(
    "script",
    [
        pytest.param((disturbance.__file__, METRONOME), id="metronome"),
        pytest.param((disturbance.__file__, COMPUTE), id="computing"),
        pytest.param((disturbance.__file__, STREAM), id="streaming"),
    ],
)


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 6, 8, 9, 64])
def test_the_blocks_of_a_save_are_shared_out_evenly(cores: int):
    blocks = Counter(neighbour_of(index, cores) for index in range(1, SAVE_BLOCKS + 1))
    assert blocks.keys() == set(NEIGHBOURS)
    assert max(blocks.values()) - min(blocks.values()) <= 2


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 6, 8, 9, 64])
def test_every_core_meets_every_disturbance(cores: int):
    met = {(index % cores, neighbour_of(index, cores)) for index in range(3 * cores)}
    assert met == set(itertools.product(range(cores), NEIGHBOURS))


@posix
@scripts
def test_they_end_with_their_parent_even_if_that_is_killed(script: tuple[str, ...]):
    command = [sys.executable, "-c", PARENT, *script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    try:
        assert is_gone(child, within_s=30.0)
    finally:
        with suppress(psutil.NoSuchProcess):
            child.kill()


@posix
@scripts
def test_they_end_at_once_if_their_parent_died_before_they_were_up(script: tuple[str, ...]):
    not_the_parent = str(os.getppid())
    command = [sys.executable, "-I", "-S", *script, not_the_parent]
    assert subprocess.run(command, timeout=30.0).returncode == 0


def is_gone(process: psutil.Process, within_s: float) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False
