"""The loop of a run: what is scouted, measured, decided, and kept of an interrupted one."""

from pytest_rlperf.judge.decide import LOOKS
from pytest_rlperf.measure.side import State
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.run.partners import SOLO_BLOCKS, Alone

from .campaigns import Fake, run, slower, unsure


def test_every_test_is_scouted_once_and_then_measured_until_it_is_decided():
    over = run({"same": Fake(), "slower": Fake(slower)})
    assert [task.plan for task in over.blocks.ran[0]] == [None, None]
    assert over.outcome("same") is Outcome.UNCHANGED
    assert over.outcome("slower") is Outcome.REGRESSED
    assert over.blocks.blocks_of("same") == LOOKS[0]
    assert over.blocks.blocks_of("slower") > LOOKS[0]


def test_decided_tests_drop_out_of_later_blocks():
    over = run({"same": Fake(), "slower": Fake(slower)})
    assert [task.nodeid for task in over.blocks.ran[-1]] == ["slower"]


def test_a_result_has_what_was_measured():
    result = run({"same": Fake()}).results["same"]
    assert (len(result.blocks), len(result.log_ratios), result.steps) == (5, 5, 7)
    assert (result.blocks[0].core, result.blocks[0].steal) == (1, 0.25)
    assert result.repeat_command == "pytest same"


def test_progress_counts_what_is_decided():
    shown = run({"same": Fake(), "slower": Fake(slower)}).shown
    assert [shown[0].decided, shown[-1].decided] == [0, 2]
    assert shown[-1].tests == 2
    assert shown[0].blocks == 0


def test_a_test_that_fails_in_the_scout_has_no_block():
    over = run({"broken": Fake(scout=State.FAILED), "same": Fake()})
    assert over.outcome("broken") is Outcome.FAILED
    assert over.blocks.blocks_of("broken") == 0
    assert over.outcome("same") is Outcome.UNCHANGED


def test_a_skipped_test_is_no_failure():
    result = run({"skipped": Fake(scout=State.SKIPPED)}).results["skipped"]
    assert (result.verdict.outcome, result.skipped) == (Outcome.SKIPPED, "why")


def test_alone_a_test_is_shown_after_a_few_blocks():
    over = run({"same": Fake()}, partner=Alone())
    assert over.outcome("same") is Outcome.NO_BASELINE
    assert over.blocks.blocks_of("same") == SOLO_BLOCKS


# -- interruption -------------------------------------------------------------------------------


def test_an_interrupted_campaign_keeps_what_was_measured():
    over = run({"unsure": Fake(unsure), "late": Fake(unsure)}, stop_at=4)
    assert over.interrupted
    assert len(over.results["unsure"].blocks) == 3
    assert over.outcome("unsure") is Outcome.INCONCLUSIVE
    assert over.reason("unsure").endswith("; run it again")


def test_an_interrupted_scout_leaves_every_test_open():
    over = run({"same": Fake()}, stop_at=0)
    assert over.interrupted
    assert over.results["same"].blocks == ()
    assert over.reason("same").startswith("the run was interrupted")
