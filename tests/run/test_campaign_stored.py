"""The loop of a run that compares with stored baselines, or saves them."""

from typing import Any

from pytest_rlperf.judge.decide import LOOKS
from pytest_rlperf.judge.reference import kernel_ratios
from pytest_rlperf.judge.stored import Level
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.run.partners import SAVE_BLOCKS, SOLO_BLOCKS, Kernels
from tests.factories import a_session

from .campaigns import Fake, run


def level(**fields: Any) -> Level:
    sessions = (a_session({"interpreter": [0.0] * 6}),)
    return Level(**{"weights": {"interpreter": 1.0}, "sessions": sessions, "work": {}, **fields})


def test_a_save_measures_on_after_the_decision():
    over = run({"same": Fake()}, partner=Kernels({}, saving=True))
    assert over.blocks.blocks_of("same") == SAVE_BLOCKS
    assert over.outcome("same") is Outcome.NO_BASELINE


def test_a_decided_test_is_measured_as_often_as_a_save_needs():
    found = run({"same": Fake()}, partner=Kernels({}, saving=True)).results["same"]
    at = kernel_ratios(found.blocks[0])["interpreter"]
    sessions = (a_session(blocks=({"interpreter": at},) * 6),)
    known = Kernels({"same": level(sessions=sessions)}, saving=True)
    over = run({"same": Fake()}, partner=known)
    assert over.outcome("same") is Outcome.UNCHANGED
    assert over.blocks.blocks_of("same") == SAVE_BLOCKS > LOOKS[0]


def test_other_work_than_stored_is_incomparable_at_once():
    known = Kernels({"same": level(work={"updates": 3.0})})
    over = run({"same": Fake(work={"updates": 4.0})}, partner=known)
    assert over.outcome("same") is Outcome.INCOMPARABLE
    assert "updates is 3 on the base and 4 on head" in over.reason("same")
    assert over.blocks.blocks_of("same") == 1


def test_other_work_than_stored_can_be_saved_anew():
    known = Kernels({"same": level(work={"updates": 3.0})}, saving=True)
    over = run({"same": Fake(work={"updates": 4.0})}, partner=known)
    assert over.outcome("same") is Outcome.INCOMPARABLE
    assert len(over.results["same"].blocks) == SAVE_BLOCKS
    assert over.results["same"].log_ratios == ()


def test_what_cannot_be_compared_says_why_even_when_time_runs_out():
    changed = Ended(Outcome.INCOMPARABLE, "the benchmark itself changed")
    over = run({"same": Fake(seconds=1.0)}, partner=Kernels({"same": changed}), budget_s=4)
    assert over.blocks.blocks_of("same") < SOLO_BLOCKS
    assert over.reason("same") == "the benchmark itself changed"


def test_the_label_of_a_comparison_stands_beside_its_verdict():
    known = Kernels({"same": level(label="saved on another CPU (Some CPU)")})
    result = run({"same": Fake()}, partner=known).results["same"]
    assert result.verdict.label == "saved on another CPU (Some CPU)"
