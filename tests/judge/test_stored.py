"""From a stored baseline to what head is held against: its level and blur, or why there is none."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_rlperf.judge.stored import (
    ELSEWHERE,
    ENOUGH_SESSIONS,
    MUST_MATCH,
    SESSION_SPREAD,
    TRACKING_SHARE,
    Level,
    level_of,
)
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.model.baseline import Stored
from pytest_rlperf.model.block import LogRatios
from pytest_rlperf.model.verdict import Outcome
from tests.factories import FACTS, a_session, a_stored


def level(stored: Stored, **facts: object) -> Level:
    found = level_of(stored, stored.source_hash, {**FACTS, **facts})
    assert isinstance(found, Level)
    return found


def refusal(stored: Stored, source_hash: str = "abc", **facts: Any) -> str:
    found = level_of(stored, source_hash, {**FACTS, **facts})
    assert isinstance(found, Ended)
    assert found.outcome is Outcome.INCOMPARABLE
    return found.reason


def quiet(at: float = 1.0, blocks: int = 12) -> dict[str, list[float]]:
    return {"interpreter": [at] * blocks}


# -- level and blur -----------------------------------------------------------------------------


def test_the_level_is_the_mean_of_the_sessions_however_long_they_were():
    sessions = (a_session(quiet(1.0, 3)), a_session(quiet(2.0, 30)))
    assert level(a_stored(sessions=sessions)).unit().at.typical == pytest.approx(1.5)


def test_the_level_is_that_of_the_stored_mix():
    session = a_session({"interpreter": [1.0] * 3, "stride": [3.0] * 3, "blas": [9.0] * 3})
    stored = a_stored(weights={"interpreter": 0.25, "stride": 0.75}, sessions=(session,))
    assert level(stored).unit().at.typical == pytest.approx(2.5)


def test_a_wild_block_of_a_session_moves_its_level_little():
    session = a_session({"interpreter": [1.0] * 11 + [3.0]})
    assert level(a_stored(sessions=(session,))).unit().at.typical == pytest.approx(1.0)


def test_a_block_lies_apart_from_the_level_by_the_logarithm_of_the_change():
    found = level(a_stored(sessions=(a_session(quiet(1.0)),))).unit()
    slower = LogRatios(1.0 + math.log(1.2), 1.0 + math.log(1.3))
    apart = found.apart({"interpreter": slower, "stride": LogRatios(0.0, 0.0)})
    assert apart.typical == pytest.approx(math.log(1.2))
    assert apart.total == pytest.approx(math.log(1.3))


def test_one_quiet_session_is_blurred_by_what_sessions_differ_by_at_least():
    blur = level(a_stored(sessions=(a_session(quiet()),))).unit().blur
    assert blur == pytest.approx(SESSION_SPREAD * math.sqrt(2))


def test_more_sessions_sharpen_the_level_but_never_the_run_of_now():
    stored = [a_stored(sessions=(a_session(quiet()),) * n) for n in (1, 2, 4, 64)]
    blurs = [level(each).unit().blur for each in stored]
    assert blurs == sorted(blurs, reverse=True)
    assert blurs[-1] > SESSION_SPREAD


def test_a_unit_that_did_not_follow_the_test_through_a_disturbance_blurs_the_level():
    shaken = a_session({"interpreter": [1.0, 1.0, 1.2, 1.2] * 3})
    blur = level(a_stored(sessions=(shaken,))).unit().blur
    assert blur > TRACKING_SHARE * 0.1 * math.sqrt(2)


def test_enough_sessions_show_by_themselves_how_much_they_differ():
    apart = tuple(a_session(quiet(at)) for at in (0.9, 1.0, 1.1))
    assert len(apart) == ENOUGH_SESSIONS
    assert level(a_stored(sessions=apart)).unit().blur >= 0.1 * math.sqrt(1 + 1 / ENOUGH_SESSIONS)


# -- the unit -----------------------------------------------------------------------------------

BUSY = [0.0, 0.1, 0.2, 0.3] * 3
"""By how much a neighbour slows the test and `stride`, but not `chain`."""


def blocks(**kernels: Sequence[float]) -> tuple[Mapping[str, LogRatios], ...]:
    return a_session(kernels).blocks


def test_without_a_run_the_unit_is_that_of_the_save():
    assert level(a_stored()).unit().weights == {"interpreter": 1.0}


@pytest.mark.parametrize("slower", [0.0, 0.2])
def test_kernels_that_a_quiet_save_took_wrongly_are_given_up_where_the_run_tells(slower: float):
    saved = a_session({"chain": [1.0] * 12, "stride": [2.0, 2.001, 1.999] * 4})
    found = level(a_stored(weights={"chain": 1.0}, sessions=(saved,)))
    now = blocks(chain=[1.0 + slower + off for off in BUSY], stride=[2.0 + slower] * len(BUSY))
    unit = found.unit(now)
    assert unit.weights == {"stride": 1.0}
    assert unit.at.typical == pytest.approx(2.0)
    assert [unit.apart(block).typical for block in now] == pytest.approx([slower] * len(now))


def test_a_quiet_run_does_not_undo_what_the_save_has_learned():
    saved = a_session({"chain": [1.0 + off for off in BUSY], "stride": [2.0] * len(BUSY)})
    found = level(a_stored(weights={"stride": 1.0}, sessions=(saved,)))
    now = blocks(chain=[1.0] * 6, stride=[2.0, 2.01, 1.99] * 2)
    assert found.unit(now).weights == {"stride": 1.0}


def test_a_first_block_of_a_run_tells_nothing_about_kernels():
    found = level(a_stored())
    assert found.unit(blocks(interpreter=[9.0], stride=[0.0])).weights == {"interpreter": 1.0}


@pytest.mark.parametrize(("saved_in", "taken"), [("stride", "stride"), ("clock", "clock")])
def test_only_a_test_that_was_saved_by_the_clock_is_judged_by_it(saved_in: str, taken: str):
    """However steady it is."""
    saved = a_session({"clock": [1.0] * 12, "stride": [2.0 + off for off in BUSY]})
    found = level(a_stored(weights={saved_in: 1.0}, sessions=(saved,)))
    now = blocks(clock=[1.0] * 12, stride=[2.0 + off for off in BUSY])
    assert found.unit(now).weights == {taken: 1.0}


def test_a_run_that_met_fewer_kernels_is_judged_in_those():
    saved = a_session({"blas": [1.0] * 12, "stride": [2.0 + off for off in BUSY]})
    found = level(a_stored(weights={"stride": 1.0}, sessions=(saved,)))
    assert found.unit(blocks(stride=[2.0] * 6)).weights == {"stride": 1.0}


# -- facts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fact", "now", "said"),
    [
        ("architecture", "aarch64", "architecture was x86_64, is aarch64"),
        ("implementation", "PyPy", "Python implementation was CPython, is PyPy"),
        ("python", "3.12", "Python version was 3.11, is 3.12"),
        ("threads", 4, "number of threads was 1, is 4"),
        ("kernels", 2, "edition of the reference kernels was 1, is 2"),
    ],
)
def test_a_fact_that_must_match_is_named_with_both_values(fact: str, now: Any, said: str):
    assert refusal(a_stored(), **{fact: now}) == f"recorded under other facts: {said}"
    assert fact in MUST_MATCH


def test_every_differing_fact_is_named():
    said = refusal(a_stored(), python="3.12", threads=2)
    assert said.endswith("Python version was 3.11, is 3.12; number of threads was 1, is 2")


def test_a_fact_that_was_not_recorded_is_unknown():
    bare = a_stored(sessions=(a_session(facts={**FACTS, "python": None}),))
    assert "Python version was None, is 3.11" in refusal(bare)


def test_a_benchmark_whose_source_changed_measures_something_else():
    assert refusal(a_stored(), source_hash="xyz").startswith(
        "the benchmark itself changed since its baseline was saved"
    )


def test_the_kernels_that_a_test_is_measured_in_must_exist_here():
    session = a_session({"blas": [1.0] * 3})
    stored = a_stored(weights={"blas": 1.0}, sessions=(session,))
    assert level(stored).weights == {"blas": 1.0}
    assert refusal(stored, numpy=None) == (
        "it is measured in reference kernels that are missing here (blas); install numpy, or save "
        "it again"
    )


def test_a_test_that_waits_is_measured_by_the_clock_which_is_everywhere():
    session = a_session({"clock": [1.0] * 3})
    assert level(a_stored(weights={"clock": 1.0}, sessions=(session,)), numpy=None).floor == 0


def test_the_facts_of_the_latest_session_count():
    old = a_session(created="2029-01-01", facts={**FACTS, "python": "3.10"})
    assert level(a_stored(sessions=(a_session(), old))).label is None


@pytest.mark.parametrize(("dirty", "commit"), [(False, "abc1234"), (True, None)])
def test_a_level_knows_the_commit_that_its_code_can_be_had_from(dirty: bool, commit: str | None):
    session = a_session(commit="abc1234", dirty=dirty)
    assert level(a_stored(sessions=(session,))).commit == commit


# -- labels -------------------------------------------------------------------------------------


def test_the_same_machine_and_libraries_need_no_label_and_no_wider_threshold():
    found = level(a_stored())
    assert (found.label, found.floor) == (None, 0.0)


def test_another_cpu_widens_the_threshold_and_is_labelled():
    found = level(a_stored(), cpu="Other CPU")
    assert found.floor == ELSEWHERE
    assert found.label == "saved on another CPU (Some CPU)"


def test_another_build_of_the_same_python_widens_the_threshold_too():
    found = level(a_stored(), python_build="3.11.2, GCC 12.2.0")
    assert found.floor == ELSEWHERE
    assert found.label == "saved with another build of Python (3.11.7, GCC 12.2.0)"


def test_other_libraries_are_a_label_and_nothing_more():
    found = level(a_stored(), numpy="2.5.0", blas=None)
    assert found.floor == 0
    assert found.label == "numpy 2.4.6 then, 2.5.0 now, blas openblas 0.3 then, missing now"


def test_other_program_addresses_are_a_label_and_nothing_more():
    found = level(a_stored(), addresses="random")
    assert found.floor == 0
    assert found.label == "program addresses fixed then, random now"
