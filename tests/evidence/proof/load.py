"""Load like that of a shared machine: unpinned processes with random bursts of work.

Each process alternates bursts of 50-500 ms, computing or streaming through memory, with idle
gaps of 50-500 ms. ``python -m tests.evidence.proof.load --seconds 60`` runs it alone.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from types import FrameType

SHORTEST_S, LONGEST_S = 0.05, 0.5
# Far beyond any L2 cache, so that a memory burst really goes to memory.
BUFFER_BYTES = 64 * 2**20
# Copied between two looks at the clock: about a millisecond.
PIECE_BYTES = 4 * 2**20
PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int) -> None:
    """Ask the kernel for SIGKILL when the parent dies; leave at once if it already has."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def compute_until(end: float) -> None:
    value = 1
    while time.perf_counter() < end:
        for _ in range(5000):
            value = (value * 1103515245 + 12345) % 2147483648


def stream_until(end: float, buffer: memoryview) -> None:
    half = len(buffer) // 2
    start = 0
    while time.perf_counter() < end:
        buffer[half + start : half + start + PIECE_BYTES] = buffer[start : start + PIECE_BYTES]
        start = (start + PIECE_BYTES) % half


def run_process(seed: int, parent_pid: int) -> None:
    """Burst and rest for ever; the parent ends it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Ctrl+C reaches the whole group: the parent handles it for all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent_pid)
    rng = random.Random(seed)
    # Multiplied, not zeroed: untouched zero pages would all be one page in the cache.
    buffer = memoryview(bytearray(b"\x01") * BUFFER_BYTES)
    while True:
        end = time.perf_counter() + rng.uniform(SHORTEST_S, LONGEST_S)
        if rng.random() < 0.5:
            compute_until(end)
        else:
            stream_until(end, buffer)
        time.sleep(rng.uniform(SHORTEST_S, LONGEST_S))


def start(processes: int, seed: int) -> list[BaseProcess]:
    context = multiprocessing.get_context("fork")
    children: list[BaseProcess] = []
    for number in range(processes):
        arguments = (seed * 1000 + number, os.getpid())
        child = context.Process(target=run_process, args=arguments, daemon=True)
        child.start()
        children.append(child)
    return children


def wait(children: Sequence[BaseProcess], seconds: float | None) -> int:
    """Until the time is up (0) or a child has died (1): less load than asked for is no load."""
    end = None if seconds is None else time.monotonic() + seconds
    while end is None or time.monotonic() < end:
        if not all(child.is_alive() for child in children):
            print("a load process ended by itself", file=sys.stderr)
            return 1
        time.sleep(0.1)
    return 0


def leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.evidence.proof.load", description=__doc__
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=None, help="default: until killed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parent", type=int, default=None, help="end with this parent process")
    options = parser.parse_args(argv)
    if options.parent is not None:
        die_with_parent(options.parent)
    signal.signal(signal.SIGTERM, leave)
    children: list[BaseProcess] = []
    try:
        children = start(options.processes, options.seed)
        return wait(children, options.seconds)
    except KeyboardInterrupt:
        return 130
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.join()


if __name__ == "__main__":
    raise SystemExit(main())
