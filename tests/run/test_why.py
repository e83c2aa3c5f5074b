"""What the profiler makes of processes in which a test could not be profiled."""

import pytest

from pytest_rlperf.measure.blocks import Played
from pytest_rlperf.measure.side import SideRun, State
from pytest_rlperf.run.why import Sittings

FAILED = SideRun(State.FAILED, "    raise RuntimeError\nE   RuntimeError: I am watched\n")
LEFT_ALONE = SideRun(State.ABANDONED)
RAN = SideRun(State.RAN, facts={"profile": {}})


def sittings(*runs: SideRun) -> Sittings:
    found = Sittings()
    found.take(Played("test_it", runs, core=None, steal=0.0, seconds=1.0))
    return found


def test_two_sides_that_ran_are_a_pair():
    found = sittings(RAN, RAN)
    assert len(found.played) == 1
    assert not found.trouble


@pytest.mark.parametrize("runs", [(FAILED, LEFT_ALONE), (LEFT_ALONE, FAILED)])
def test_the_side_that_failed_says_why_whoever_had_the_first_turn(runs: tuple[SideRun, ...]):
    found = sittings(*runs)
    assert not found.played
    assert found.trouble == "RuntimeError: I am watched"


def test_a_side_without_a_word_is_named_by_its_state():
    assert sittings(RAN, SideRun(State.CRASHED)).trouble == "crashed"
