"""What generated projects have in common: a fake clock, and as few blocks as tell enough.

Time passes only when the generated library calls `fakeclock.tick`, so the revision of the library
decides every duration, and no test depends on the machine's speed.
"""

FAKECLOCK = '''
"""A clock that stands still until the library says how long it took."""

import itertools
import os
import random

class FakeClock:
    now_ns = 0

    def start(self):
        self.begun_ns = self.now_ns

    def stop(self):
        from pytest_rlperf.measure.clock import Elapsed

        taken_ns = self.now_ns - self.begun_ns
        return Elapsed(taken_ns, taken_ns, 0)

    def read_ns(self):
        return self.now_ns

CLOCK = FakeClock()
_state = {"ordinal": 0, "rng": random.Random(0)}

def take_ordinal(side):
    """Number the workers of a side in the order of their start."""
    folder = os.environ["INTEGRATION_FOLDER"]
    for number in itertools.count():
        try:
            open(os.path.join(folder, f"{side}-{number:03}"), "x").close()
        except FileExistsError:
            continue
        _state.update(ordinal=number, rng=random.Random(f"{side}/{number}"))
        return

def ordinal():
    return _state["ordinal"]

def tick(ns):
    """Let about `ns` pass: a tenth of a percent of jitter gives intervals a width."""
    CLOCK.now_ns += round(ns * (1 + 0.001 * _state["rng"].uniform(-1, 1)))
'''

CONFTEST = """
import os
import sys

import fakeclock

CONTROLLER = "--rlperf" in sys.argv  # and no worker, which gets its orders otherwise

def pytest_rlperf_clock(config):
    at_head = str(config.rootpath) == os.environ["INTEGRATION_PROJECT"]
    fakeclock.take_ordinal("head" if at_head else "base")
    return fakeclock.CLOCK
"""

FEW_BLOCKS = """
if CONTROLLER:
    from pytest_rlperf.judge import decide
    from pytest_rlperf.run import partners, why

    # Three are the least there can be, and tell enough where the clock has hardly any noise.
    decide.LOOKS, decide.FIRST_FRESH, decide.LEAST_FRESH = (3, *decide.LOOKS), 3, 5
    partners.SAVE_BLOCKS = partners.SOLO_BLOCKS = 3
    why.PAIRS = int(os.environ.get("PROFILED_PAIRS", "0"))
"""
"""To be added to a conftest, as the next one."""

BLOCK_BUDGET = """
if CONTROLLER:
    import glob

    from pytest_rlperf.run.budget import Budget

    # The budget is counted in workers instead of seconds: it ends at the same block everywhere.
    workers = os.path.join(os.environ["INTEGRATION_FOLDER"], "head-*")
    Budget.elapsed_s = lambda self: float(len(glob.glob(workers)))
"""

COMMON = {
    "fakeclock.py": FAKECLOCK,
    "conftest.py": CONFTEST + FEW_BLOCKS,
    "pytest.ini": "[pytest]\n",
    ".gitignore": "__pycache__\n",
}
