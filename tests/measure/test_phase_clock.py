"""The clock that sums up phases: whose time is whose, and what cannot be summed up."""

import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.measure.clock import Elapsed
from pytest_rlperf.measure.phase_clock import COST_PHASES, PhaseClock
from pytest_rlperf.phases import listen, phase
from tests.factories import FakeClock, examples


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    yield
    listen(None)


def timed(work: Callable[[FakeClock], None], slices: int = 1) -> tuple[PhaseClock, list[Elapsed]]:
    inner = FakeClock()
    clock = PhaseClock(inner, inner.read_ns)
    found = []
    for _ in range(slices):
        clock.start()
        work(inner)
        found.append(clock.stop())
    return clock, found


def test_a_phase_has_its_share_of_the_time():
    def work(clock: FakeClock) -> None:
        clock.compute(30)
        with phase("learn"):
            clock.compute(70)

    clock, elapsed = timed(work, slices=3)
    assert clock.shares == {"learn": pytest.approx(0.7, abs=0.001)}
    assert [each.wall_ns for each in elapsed] == [100] * 3


def test_waiting_for_a_core_is_no_time_of_a_phase():
    def work(clock: FakeClock) -> None:
        with phase("act"):
            clock.compute(50)
            clock.wait_for_core(1000)
        clock.compute(50)

    clock, _ = timed(work)
    assert clock.shares == {"act": pytest.approx(0.5, abs=0.001)}


def test_what_an_inner_phase_takes_is_not_the_outer_ones():
    def work(clock: FakeClock) -> None:
        with phase("learn"):
            clock.compute(10)
            with phase("sample"):
                clock.compute(60)
            clock.compute(30)

    clock, _ = timed(work)
    assert clock.shares == {
        "learn": pytest.approx(0.4, abs=0.001),
        "sample": pytest.approx(0.6, abs=0.001),
    }


parts = st.recursive(
    st.integers(1, 1000), lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=12
)


@examples
@given(parts)
def test_the_shares_of_nested_phases_never_exceed_the_whole(tree: object):
    def work(clock: FakeClock, part: object = tree, depth: int = 0) -> None:
        if isinstance(part, int):
            clock.compute(part)
            return
        assert isinstance(part, list)
        for inner in part:
            with phase(f"depth {depth}"):
                work(clock, inner, depth + 1)

    clock, _ = timed(work)
    whole = 0.0 if isinstance(tree, int) else 1.0
    assert sum(clock.shares.values()) == pytest.approx(whole, abs=0.001)


def test_phases_of_another_thread_are_left_out():
    def work(clock: FakeClock) -> None:
        def beside() -> None:
            with phase("beside"):
                pass

        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()
        with phase("learn"):
            clock.compute(100)

    assert list(timed(work)[0].shares) == ["learn"]


def test_what_phases_cost_is_left_out_of_the_time():
    class Slow(FakeClock):
        """Every reading takes 5 ns: ten for the two ends of a phase."""

        def read_ns(self) -> int:
            self.compute(5)
            return super().read_ns()

    inner = Slow()
    clock = PhaseClock(inner, inner.read_ns)
    clock.start()
    for _ in range(100):
        with phase("learn"):
            inner.compute(90)
    assert clock.stop() == Elapsed(9000, 9000, 0)
    assert clock.shares == {"learn": pytest.approx(1.0, abs=0.001)}
    assert COST_PHASES >= 100


def test_a_function_without_phases_is_timed_as_it_is():
    clock, elapsed = timed(lambda clock: clock.compute(100))
    assert elapsed == [Elapsed(100, 100, 0)]
    assert clock.shares == {}


def never_closed(clock: FakeClock) -> None:
    phase("learn").__enter__()


def inside_itself(clock: FakeClock) -> None:
    with phase("learn"), phase("learn"):
        pass


def crossing(clock: FakeClock) -> None:
    outer, inner = phase("outer"), phase("inner")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)


def only_closed(clock: FakeClock) -> None:
    phase("learn").__exit__(None, None, None)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (never_closed, r"^the phase 'learn' was never closed; write with rlperf\.phase\('learn'\)"),
        (inside_itself, "^the phase 'learn' was entered inside itself; give the inner one another"),
        (crossing, "^the phase 'outer' was closed while 'inner' was open inside it; use phases by"),
        (only_closed, "^the phase 'learn' was closed before it was entered; use phases by with"),
    ],
)
def test_phases_that_cannot_be_summed_up_are_refused_in_one_line(
    work: Callable[[FakeClock], None], message: str
):
    with pytest.raises(FixtureError, match=message) as raised:
        timed(work)
    assert "\n" not in str(raised.value)
