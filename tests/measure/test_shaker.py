"""Disturbing a core on purpose: evenly over blocks and cores, no longer than its parent lives."""

import itertools
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

import psutil
import pytest

from pytest_rlperf.measure import shaker
from pytest_rlperf.measure.shaker import COMPUTE, SHAKES, STREAM, shake_of
from pytest_rlperf.run.partners import SAVE_BLOCKS

PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", *sys.argv[1:], str(os.getpid())])
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 6, 8, 9, 64])
def test_the_blocks_of_a_save_are_shared_out_evenly(cores: int):
    blocks = Counter(shake_of(index, cores) for index in range(1, SAVE_BLOCKS + 1))
    assert blocks.keys() == set(SHAKES)
    assert max(blocks.values()) - min(blocks.values()) <= 2


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 6, 8, 9, 64])
def test_every_core_meets_every_disturbance(cores: int):
    met = {(index % cores, shake_of(index, cores)) for index in range(3 * cores)}
    assert met == set(itertools.product(range(cores), SHAKES))


@pytest.mark.parametrize("kind", [COMPUTE, STREAM])
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX processes")
def test_it_ends_with_its_parent_even_if_that_is_killed(kind: str):
    command = [sys.executable, "-c", PARENT, str(shaker.__file__), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    try:
        assert is_gone(child, within_s=30.0)
    finally:
        with suppress(psutil.NoSuchProcess):
            child.kill()


def is_gone(process: psutil.Process, within_s: float) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.01)
    return False
