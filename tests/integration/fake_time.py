"""What generated projects have in common: a fake clock, and as few blocks as tell enough.

Time passes only when the generated library calls `fakeclock.tick`, so the revision of the library
decides every duration, and no test depends on the machine's speed.
"""

FAKECLOCK = '''
"""A clock that stands still until the library says how long it took."""

import functools
import itertools
import os
import random

class FakeClock:
    now_ns = 0

    def start(self):
        worker()
        self.begun_ns = self.now_ns

    def stop(self):
        from pytest_rlperf.worker.clock import Elapsed

        taken_ns = self.now_ns - self.begun_ns
        return Elapsed(taken_ns, taken_ns, 0)

    def read_ns(self):
        return self.now_ns

CLOCK = FakeClock()
_side = "head"

def serve(side):
    global _side
    _side = side

@functools.cache
def worker():
    """Number and random numbers of this one among the workers of its side, in the order in which
    they begin to measure: who of two that start at once is up first is the machine's affair, and so
    is whether one that nobody needed any more came up before it was ended.
    """
    # In two parts: a variable that a project names is part of what its tests run under.
    folder = os.environ["INTEGRATION_" "FOLDER"]
    for number in itertools.count():
        try:
            open(os.path.join(folder, f"{_side}-{number:03}"), "x").close()
        except FileExistsError:
            continue
        return number, random.Random(f"{_side}/{number}")

def ordinal():
    return worker()[0]

def about(ns):
    """A tenth of a percent of jitter gives intervals a width."""
    return round(ns * (1 + 0.001 * worker()[1].uniform(-1, 1)))

def tick(ns):
    """Let about `ns` pass."""
    CLOCK.now_ns += about(ns)
'''

CONFTEST = """
import os
import sys

import fakeclock

CONTROLLER = "--rlperf" in sys.argv  # and no worker, which gets its orders otherwise

def pytest_rlperf_clock(config):
    at_head = str(config.rootpath) == os.environ["INTEGRATION_PROJECT"]
    fakeclock.serve("head" if at_head else "base")
    return fakeclock.CLOCK
"""

FEW_BLOCKS = """
if CONTROLLER:
    from pytest_rlperf.gate import partners
    from pytest_rlperf.profile import profiler
    from pytest_rlperf.stats import decide
    from pytest_rlperf.workers import pair, planning

    # Fewer tell enough where the clock has hardly any noise.
    decide.FIRST_FRESH, decide.LEAST_FRESH = 3, 5
    partners.SAVE_BLOCKS = partners.SOLO_BLOCKS = 3
    profiler.LOOKS = tuple(filter(None, [int(os.environ.get("PROFILED_PAIRS", "0"))]))
    # Nor does such a clock gain by many slices, or by where the memory of a process happens to lie.
    planning.PAIRS = {mode: (least, min(most, 8)) for mode, (least, most) in planning.PAIRS.items()}
    planning.LONGEST = 1
    pair.start_pair.__kwdefaults__["scattered"] = False
"""
"""To be added to a conftest, as the next one."""

BLOCK_BUDGET = """
if CONTROLLER:
    import glob

    from pytest_rlperf.gate.budget import Budget
    from pytest_rlperf.workers.blocks import Blocks

    # The budget is counted in workers that measured instead of seconds, one block after the other:
    # it ends at the same one everywhere.
    workers = os.path.join(os.environ["INTEGRATION_" "FOLDER"], "head-*")
    Budget.elapsed_s = lambda self: float(len(glob.glob(workers)))
    Blocks.block_s = lambda self, kind, tests_s: 1.0
    Blocks.lanes = 1
"""

COMMON = {
    "fakeclock.py": FAKECLOCK,
    "conftest.py": CONFTEST + FEW_BLOCKS,
    # Most runs are about measuring, and many of their tests run the same code on both sides.
    "pytest.ini": "[pytest]\nrlperf_same_code = measure\n",
    ".gitignore": "__pycache__\n",
}
