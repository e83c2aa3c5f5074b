"""A project whose tests end in every outcome."""

from .fake_time import BLOCK_BUDGET, CONFTEST

LIBRARY_BASE = """
from fakeclock import ordinal, tick

MS = 1_000_000

def same():
    tick(1 * MS)

def slower():
    tick(1 * MS)

def a_bit_slower():
    tick(1 * MS)

def within():
    tick(1 * MS)

def twice():
    tick(1 * MS)

def faster():
    tick(1.5 * MS)

def unsteady():
    tick(1 * MS)

def every_eighth(calls=[0]):
    tick(3 * MS)

def rollout():
    tick(1 * MS)

def learn():
    tick(1 * MS)
    return 10

def count_up(calls=[0]):
    calls[0] += 1
    tick((1 if ordinal() else 1.3) * MS)  # the scout makes fewer calls than head's
    return calls[0]

def refuse():
    raise ValueError("no such action")

def broken_on_base():
    raise LookupError("no such game")

def third_call_on_head(calls=[0]):
    tick(1 * MS)

def third_call_on_base(calls=[0]):
    tick(1 * MS)
    calls[0] += 1
    if calls[0] == 3:
        raise OverflowError("the buffer is full")

def third_call_on_both(calls=[0]):
    tick(1 * MS)
    calls[0] += 1
    if calls[0] == 3:
        raise OverflowError("the buffer is full")
"""

LIBRARY_HEAD = """
from fakeclock import ordinal, tick

MS = 1_000_000

def same():
    tick(1 * MS)

def slower():
    tick(1.15 * MS)

def a_bit_slower():
    tick(1.08 * MS)

def within():
    tick(1.03 * MS)

def twice():
    tick(2 * MS)

def faster():
    tick(1 * MS)

def unsteady():
    # Symmetric around the threshold of 5 %, whatever the order of the blocks.
    tick(1.05 * MS * (1.35 if ordinal() % 2 else 1 / 1.35))

def every_eighth(calls=[0]):
    calls[0] += 1
    tick(3 * MS if calls[0] % 8 else 6.6 * MS)

def rollout():
    tick(0.8 * MS)

def learn():
    tick(1 * MS)
    return 12

def count_up(calls=[0]):
    calls[0] += 1
    tick(1 * MS)
    return calls[0]

def refuse():
    raise ValueError("no such action")

def broken_on_base():
    tick(1 * MS)

def new_on_head():
    tick(1 * MS)

def third_call_on_head(calls=[0]):
    tick(1 * MS)
    calls[0] += 1
    if calls[0] == 3:
        raise OverflowError("the buffer is full")

def third_call_on_base(calls=[0]):
    tick(1 * MS)

def third_call_on_both(calls=[0]):
    tick(1 * MS)
    calls[0] += 1
    if calls[0] == 3:
        raise OverflowError("the buffer is full")
"""

TESTS = """
import lib
import pytest

def test_same(rlperf):
    rlperf(lib.same)

def test_within(rlperf):
    rlperf(lib.within)

def test_slower(rlperf):
    rlperf(lib.slower)

def test_a_bit_slower(rlperf):
    rlperf(lib.a_bit_slower)

def test_twice(rlperf):
    rlperf(lib.twice)

def test_faster(rlperf):
    rlperf(lib.faster)

def test_unsteady(rlperf):
    rlperf(lib.unsteady)

def test_every_eighth(rlperf):
    rlperf(lib.every_eighth)

@pytest.mark.rlperf(category="env", steps=100, metadata={"game": "chain"})
def test_rollout(rlperf):
    rlperf(lib.rollout)

def test_learn(rlperf):
    assert rlperf.measure(lib.learn, work=lambda updates: {"updates": updates}) in (10, 12)

def test_count_up(rlperf):
    rlperf.measure(lib.count_up, work=lambda calls: {"calls": calls})

def test_broken_on_base(rlperf):
    rlperf(lib.broken_on_base)

def test_new_on_head(rlperf):
    rlperf(lib.new_on_head)

def test_third_call_on_head(rlperf):
    rlperf(lib.third_call_on_head)

def test_third_call_on_base(rlperf):
    rlperf(lib.third_call_on_base)

def test_third_call_on_both(rlperf):
    rlperf(lib.third_call_on_both)

def test_wrong_result(rlperf):
    updates = rlperf(lib.learn)
    print("printed by the test")
    assert updates == 11, "learned too little"

def test_skipped(rlperf):
    pytest.skip("needs a GPU")

@pytest.mark.skip(reason="slow on Fridays")
def test_marked_skip(rlperf):
    rlperf(lib.same)

@pytest.mark.xfail(reason="known to be wrong")
def test_expected_to_fail(rlperf):
    assert rlperf(lib.learn) == 13

@pytest.fixture
def no_display():
    raise OSError("no display")

def test_setup_error(rlperf, no_display):
    rlperf(lib.same)

@pytest.fixture
def untidy():
    yield
    raise OSError("the socket is still open")

def test_teardown_error(rlperf, untidy):
    rlperf(lib.same)

def test_forgot_the_fixture(rlperf):
    lib.same()

@pytest.mark.rlperf(category="env")
def test_marked_without_fixture():
    lib.same()

def test_called_twice(rlperf):
    rlperf(lib.same)
    rlperf(lib.same)

def test_not_a_function(rlperf):
    rlperf(lib.learn())

def test_caught(rlperf):
    with pytest.raises(ValueError):
        rlperf(lib.refuse)

def test_plain():
    raise AssertionError("a plain test must not run")
"""

OUTCOMES_BASE = {"lib.py": LIBRARY_BASE, "tests/test_perf.py": "# older benchmarks\n"}
OUTCOMES_HEAD = {
    "lib.py": LIBRARY_HEAD,
    "tests/test_perf.py": TESTS,
    "conftest.py": CONFTEST + BLOCK_BUDGET,
}
