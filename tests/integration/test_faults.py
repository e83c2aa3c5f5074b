"""A worker that crashes, hangs or babbles costs its own test only."""

import pytest

from .fake_time import CONFTEST, FEW_BLOCKS
from .projects import Ended, Workshop

SHORT_DEADLINES = """
if CONTROLLER:
    from pytest_rlperf.gate import budget

    budget.SCOUT_DEADLINE_S = (3.0, 3.0)
    budget.BLOCK_DEADLINE_S = 3.0
    budget.SLOWEST = 2
"""

TESTS = """
import os
import signal
import sys
import time

import lib
import pytest
from fakeclock import ordinal, tick

US = 1_000

def work():
    tick(100 * US)

def test_first(rlperf):
    rlperf(work)

def test_crash(rlperf):
    print("these are the last words", file=sys.stderr)
    sys.stderr.flush()
    os.write(2, b"written past the capture\\n")
    rlperf(lambda: os.kill(os.getpid(), signal.SIGSEGV))

def test_crash_on_base(rlperf):
    rlperf(lib.crash_on_base)

def test_crash_in_a_block(rlperf):
    def later():
        work()
        if lib.AT_HEAD and ordinal() >= 3:
            os.kill(os.getpid(), signal.SIGKILL)
    rlperf(later)

def test_exit(rlperf):
    rlperf(os._exit, 9)

def test_hang(rlperf):
    def sleep_for_ever():
        time.sleep(3600)
    rlperf(sleep_for_ever)

def test_hang_on_base(rlperf):
    rlperf(work) if lib.AT_HEAD else time.sleep(3600)

def test_hang_amid_slices_on_base(rlperf):
    rlperf(lib.hang_at_fifth_call_on_base)

def test_garbage(rlperf):
    def babble():
        work()
        sys.stdout.write("\\x00\\xff\\n{not json]\\n")
        os.write(1, b"\\xff\\xfe\\x00 straight to the descriptor\\n")
        os.write(2, b'{"event": "measured"}\\n')
    os.write(1, b"\\x80" * 2**20)
    sys.stderr.write("x" * 2**20)
    rlperf(babble)

def test_last(rlperf):
    rlperf(work)
"""

LIBRARY_BASE = """
import os
import signal
import time

from fakeclock import tick

AT_HEAD = False

def crash_on_base():
    os.kill(os.getpid(), signal.SIGABRT)

def hang_at_fifth_call_on_base(calls=[0]):
    # A scout makes four calls. In a block one warms up, so the fifth is in the fourth slice.
    calls[0] += 1
    tick(20_000_000)
    if calls[0] == 5:
        time.sleep(3600)
"""
LIBRARY_HEAD = """
from fakeclock import tick

AT_HEAD = True

def crash_on_base():
    tick(100_000)

def hang_at_fifth_call_on_base():
    tick(20_000_000)
"""


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    head = {
        "lib.py": LIBRARY_HEAD,
        "tests/test_perf.py": TESTS,
        "conftest.py": CONFTEST + FEW_BLOCKS + SHORT_DEADLINES,
    }
    return workshop.project("faults", {"lib.py": LIBRARY_BASE}, head).measure("-s")


def test_the_others_go_on_to_their_verdicts(ended: Ended):
    assert ended.code == 1
    assert ended.outcomes == {
        "test_first": "unchanged",
        "test_crash": "failed",
        "test_crash_on_base": "no_baseline",
        "test_crash_in_a_block": "failed",
        "test_exit": "failed",
        "test_hang": "failed",
        "test_hang_on_base": "no_baseline",
        "test_hang_amid_slices_on_base": "no_baseline",
        "test_garbage": "unchanged",
        "test_last": "unchanged",
    }


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "test_crash",
            [
                "the head worker ended (signal SIGSEGV) during this test",
                "written past the capture",
            ],
        ),
        ("test_crash_in_a_block", ["the head worker ended (signal SIGKILL) during this test"]),
        ("test_exit", ["the head worker ended (exit status 9) during this test"]),
        ("test_hang", ["no answer from the head worker within 3 s", "in sleep_for_ever"]),
    ],
)
def test_a_crash_or_hang_shows_how_it_ended_and_its_last_words(
    ended: Ended, name: str, lines: list[str]
):
    shown = ended.section(name)
    assert [line for line in lines if line not in shown] == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "test_crash_on_base",
            "it crashes on the base: the base worker ended (signal SIGABRT) during this test",
        ),
        (
            "test_hang_on_base",
            "it hangs on the base: no answer from the base worker within 3 s",
        ),
    ],
)
def test_a_crash_or_hang_on_the_base_leaves_no_baseline(ended: Ended, name: str, reason: str):
    assert ended.metric(name)["reason"] == reason


def test_a_hang_of_the_base_amid_the_slices_is_not_heads(ended: Ended):
    test = ended.test("test_hang_amid_slices_on_base")
    assert test["plan"]["mode"] == "concurrent"
    reason = test["metrics"][0]["reason"]
    assert reason.startswith("it hangs on the base: no answer from the base worker within ")
    assert "FAILED tests/test_perf.py::test_hang_amid_slices_on_base" not in ended.text


def test_what_a_test_prints_disturbs_nothing(ended: Ended):
    assert ended.metric("test_garbage")["value"] == pytest.approx(1e5, rel=0.002)
