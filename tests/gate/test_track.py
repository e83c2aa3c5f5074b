"""What becomes of a test that one side could not run to its end."""

import pytest

from pytest_rlperf.gate.track import CAUGHT, UNMEASURED, Benchmark, Track
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.wire import KernelSpeeds
from pytest_rlperf.workers.side import SideRun, State

RAN = SideRun(State.RAN, report=KernelSpeeds({}))


def after(*runs: SideRun) -> Track:
    """A test of which these were the runs of head and base."""
    track = Track(Benchmark("test_a.py::test_a", Spec(), "abc", "pytest test_a.py::test_a"))
    assert track.both_ran(runs) is track.open
    return track


@pytest.mark.parametrize("runs", [(RAN,), (RAN, RAN)])
def test_what_ran_on_every_side_stays_open(runs: tuple[SideRun, ...]):
    assert after(*runs).open


@pytest.mark.parametrize("state", [State.FAILED, State.CRASHED, State.HUNG, State.UNCOLLECTED])
def test_trouble_on_head_is_the_failure_of_the_test(state: State):
    sections = (("Captured stdout", "printed"),)
    track = after(SideRun(state, "E  why", sections=sections), RAN)
    assert track.failure is not None
    assert (track.failure.text, track.failure.sections) == ("E  why", sections)


@pytest.mark.parametrize("state", [State.FAILED, State.CRASHED, State.HUNG, State.UNCOLLECTED])
def test_trouble_on_the_base_leaves_nothing_to_compare_with(state: State):
    track = after(RAN, SideRun(state, "E  why"))
    assert track.failure is None
    assert track.ended is not None
    assert track.ended.outcome is Outcome.NO_BASELINE
    assert track.ended.reason.endswith("on the base: why")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ended by SIGSEGV\nloading weights ...", "ended by SIGSEGV"),
        ("ended with 4\nE   ImportError: no game\n", "ImportError: no game"),
    ],
    ids=["last words", "pytest gave up"],
)
def test_a_base_that_crashed_is_told_by_its_error_or_how_it_ended_and_not_by_its_last_words(
    text: str, reason: str
):
    track = after(RAN, SideRun(State.CRASHED, text))
    assert track.ended is not None
    assert track.ended.reason == f"it crashes on the base: {reason}"


def test_a_skipped_test_says_why():
    assert after(SideRun(State.SKIPPED, "needs a GPU"), RAN).skipped == "needs a GPU"


@pytest.mark.parametrize(
    ("head", "text"),
    [(SideRun(State.UNMEASURED), UNMEASURED), (SideRun(State.RAN), CAUGHT)],
)
def test_a_test_without_a_measured_call_fails(head: SideRun, text: str):
    track = after(head, RAN)
    assert track.failure is not None
    assert track.failure.text == text


def test_a_side_that_measured_the_code_of_the_other_fails_the_test():
    track = after(RAN, SideRun(State.WRONG_COPY, "lib comes from head"))
    assert track.failure is not None
    assert track.failure.text == "lib comes from head"


def test_head_left_alone_by_the_base_does_not_fail():
    track = after(SideRun(State.ABANDONED), SideRun(State.CRASHED, "ended by SIGKILL"))
    assert (track.open, track.failure) == (False, None)
