"""Time in reference units: ratios to kernels, and which kernels a test is measured in; then the
level and blur that a stored baseline gives head to be held against, or why there is none.
"""

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.baselines.file import Stored, StoredMemory
from pytest_rlperf.baselines.levels import (
    CLOCK,
    ELSEWHERE,
    ENOUGH_SESSIONS,
    HANDICAP,
    MUST_MATCH,
    SESSION_SPREAD,
    TRACKING_SHARE,
    Level,
    MemoryLevel,
    combined,
    fit_weights,
    kernel_ratios,
    level_of,
    memory_level,
)
from pytest_rlperf.model.block import Block, LogRatios, Reference
from pytest_rlperf.model.memory import METRICS
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.stats.verdicts import Ended
from tests.factories import FACTS, a_session, a_stored, block, examples, side

STATES = (0.0, 0.3, 0.6) * 4
"""How busy the neighbour was, in the blocks of a save."""
BEARS = {"interpreter": 0.2, "compiled": 0.1, "stride": 1.0}
"""How much slower it makes each kernel."""

numbers = st.floats(-5, 5)
tables = st.lists(
    st.fixed_dictionaries({"a": numbers, "b": numbers, "c": numbers}), min_size=3, max_size=20
)


def rows_of(table: Sequence[Mapping[str, float]]) -> list[dict[str, LogRatios]]:
    return [{name: LogRatios(value, value) for name, value in row.items()} for row in table]


def saved(
    like: Mapping[str, float], rng: random.Random, noise: float = 0.005, own: Sequence[float] = ()
) -> list[dict[str, LogRatios]]:
    """Blocks of a test that bears a neighbour like that mix of kernels; `own` is its own luck."""
    table = []
    for number, state in enumerate(STATES):
        test = bearing(like) * state
        test += own[number] if own else 0.0
        table.append({k: test - bears * state + rng.gauss(0, noise) for k, bears in BEARS.items()})
    return rows_of(table)


def bearing(weights: Mapping[str, float]) -> float:
    """How much slower a neighbour makes that mix."""
    return sum(share * BEARS[name] for name, share in weights.items())


# -- ratios -------------------------------------------------------------------------------------


def played(head: Sequence[int], **call_ns: tuple[float, ...]) -> Block:
    return Block(side(head), reference=Reference(call_ns))


def test_every_slice_is_held_against_all_kernels():
    found = kernel_ratios(played([200, 200, 400], stride=(100, 50, 200), blas=(10, 20, 10)))
    assert found["stride"].typical == pytest.approx(math.log(2))
    assert found["blas"].typical == pytest.approx(math.log(20))


def test_a_slowdown_of_some_slices_is_seen_by_the_sums():
    found = kernel_ratios(played([100, 100, 400], blas=(100, 100, 100)))
    assert found["blas"].typical == 0
    assert found["blas"].total == pytest.approx(math.log(2))


def test_the_clock_is_a_unit_too_and_counts_nanoseconds_a_call():
    reference = Reference({"blas": (1.0, 1.0)})
    found = kernel_ratios(Block(side([500, 500], calls=5), reference=reference))
    assert found[CLOCK].typical == pytest.approx(math.log(100))


def test_a_block_without_the_kernels_has_no_ratios_to_them():
    with pytest.raises(ValueError, match="without the reference kernels"):
        kernel_ratios(block([1], [1]))


def test_a_mix_is_the_weighted_geometric_mean_of_its_kernels():
    ratios = {"a": LogRatios(math.log(2), 0.0), "b": LogRatios(math.log(8), 4.0)}
    found = combined(ratios, {"a": 0.5, "b": 0.5})
    assert found.typical == pytest.approx(math.log(4))
    assert found.total == pytest.approx(2.0)


# -- the choice ---------------------------------------------------------------------------------


@examples
@given(tables)
def test_weights_are_equal_shares_of_one(table: list[dict[str, float]]):
    weights = fit_weights(rows_of(table))
    assert set(weights.values()) == {1 / len(weights)}
    assert weights.keys() <= {"a", "b", "c"}


@examples
@given(tables)
def test_what_is_left_out_on_purpose_has_no_weight(table: list[dict[str, float]]):
    assert "a" not in fit_weights(rows_of(table), besides=frozenset({"a"}))


@pytest.mark.parametrize("kernel", BEARS)
@examples
@given(seed=st.integers())
def test_a_test_that_bears_a_neighbour_like_one_kernel_is_measured_in_it(kernel: str, seed: int):
    weights = fit_weights(saved({kernel: 1.0}, random.Random(seed)))
    assert bearing(weights) == pytest.approx(BEARS[kernel], abs=0.03)


@pytest.mark.parametrize("share", [0.4, 0.5, 0.6])
@examples
@given(seed=st.integers())
def test_a_test_of_two_kinds_is_measured_in_both(share: float, seed: int):
    like = {"compiled": 1 - share, "stride": share}
    weights = fit_weights(saved(like, random.Random(seed)))
    assert "stride" in weights
    assert bearing(weights) == pytest.approx(bearing(like), abs=0.13)


@pytest.mark.parametrize(
    ("together", "taken"), [(-0.8, {"a": 0.5, "b": 0.5}), (0.9, {"a": 1.0})], ids=str
)
def test_a_mix_must_be_clearly_better(together: float, taken: dict[str, float]):
    """Two kernels that are off at the same time by as much tell the same thing twice."""
    corners = [(0.01, 0.01), (-0.01, 0.01), (0.01, -0.01), (-0.01, -0.01)]
    blocks = rows_of([{"a": x, "b": together * x + y} for x, y in corners])
    assert fit_weights(blocks) == taken


def test_noise_of_the_test_itself_is_no_reason_for_a_mix():
    rng = random.Random(1)
    mixes = 0
    for _ in range(200):
        own = [rng.gauss(0, 0.05) for _ in STATES]
        mixes += fit_weights(saved({"stride": 1.0}, rng, noise=0.0, own=own)) != {"stride": 1.0}
    assert mixes <= 20


@pytest.mark.parametrize("luck", [-0.5, 0.5, 1.0])
@pytest.mark.parametrize("kernel", BEARS)
@pytest.mark.parametrize("number", range(len(STATES)))
def test_a_block_in_which_the_test_itself_had_bad_luck_changes_nothing(
    kernel: str, number: int, luck: float
):
    own = [luck if block == number else 0.0 for block in range(len(STATES))]
    weights = fit_weights(saved({kernel: 1.0}, random.Random(7), own=own))
    assert bearing(weights) == pytest.approx(BEARS[kernel], abs=0.03)


small = st.integers(-6, 6).map(lambda number: number / 64)
"""Nobody's luck is wild, and sums are exact: a tie stays one."""
calm = st.lists(
    st.fixed_dictionaries({"a": small, "b": small, "c": small}), min_size=3, max_size=20
)


@examples
@given(calm, calm, st.integers(-8, 8))
def test_how_far_runs_lie_apart_has_no_part_in_the_choice(
    then: list[dict[str, float]], now: list[dict[str, float]], off: int
):
    """The same of all kernels: it is the test that changed."""
    moved = [{name: value + off for name, value in row.items()} for row in now]
    found = [fit_weights(rows_of(then), rows_of(run)) for run in (now, moved)]
    scores = [HANDICAP[len(weights)] * pooled_spread(weights, then, now) for weights in found]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9)


def pooled_spread(weights: Mapping[str, float], *runs: Sequence[Mapping[str, float]]) -> float:
    mixed = [[combined(row, weights).typical for row in rows_of(run)] for run in runs]
    return math.hypot(*(x - statistics.fmean(run) for run in mixed for x in run))


def test_only_kernels_that_every_block_met_can_be_chosen():
    table = [{"a": 0.0, "b": 1.0}, {"a": 0.1, "b": 1.0}, {"a": 0.2, "b": 1.0}, {"a": 0.3}]
    assert fit_weights(rows_of(table)) == {"a": 1.0}


def test_blocks_that_do_not_differ_have_no_spread_and_still_a_unit():
    assert fit_weights(rows_of([{"a": 1.0, "b": 2.0}] * 4)) == {"a": 1.0}


# -- from a stored baseline to its level --------------------------------------------------------


def level(stored: Stored, judge_foreign: bool = False, **facts: str | int | None) -> Level:
    found = level_of(stored, stored.source_hash, {**FACTS, **facts}, judge_foreign)
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


@pytest.mark.parametrize(
    ("facts", "floor", "label"),
    [
        pytest.param({}, 0.0, None, id="same machine and libraries"),
        pytest.param(
            {"cpu": "Other CPU"},
            ELSEWHERE,
            "saved on another machine (cpu was Some CPU, is Other CPU)",
            id="another CPU",
        ),
        pytest.param(
            {"python_build": "3.11.2, GCC 12.2.0"},
            ELSEWHERE,
            "saved with another build of Python (3.11.7, GCC 12.2.0)",
            id="another build of the same Python",
        ),
        pytest.param(
            {"numpy": "2.5.0", "blas": None},
            0.0,
            "numpy 2.4.6 then, 2.5.0 now, blas openblas 0.3 then, missing now",
            id="other libraries",
        ),
        pytest.param(
            {"addresses": "random"},
            0.0,
            "program addresses fixed then, random now",
            id="other program addresses",
        ),
    ],
)
def test_what_differs_is_a_label_and_another_machine_or_build_widens_the_threshold(
    facts: dict[str, Any], floor: float, label: str | None
):
    found = level(a_stored(), judge_foreign=True, **facts)
    assert (found.floor, found.label, found.foreign) == (floor, label, None)


# -- other machines -----------------------------------------------------------------------------

EPYC = {
    **FACTS,
    "cpu": "AMD EPYC",
    "vendor": "AuthenticAMD",
    "family": "25",
    "model": "1",
    "stepping": "1",
    "caches": "L1d 32K, L2 512K, L3 32768K",
    "simd": "avx avx2 fma sse4a_only",
    "threads_per_core": 2,
}


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"cores": 64}, "cores was 2, is 64"),
        ({"family": "26", "model": "2"}, "family was 25, is 26; model was 1, is 2"),
        (
            {"caches": "L1d 48K, L2 1024K, L3 32768K"},
            "caches that differ: L1d 32K, L2 512K then, L1d 48K, L2 1024K now",
        ),
        (
            {"simd": "avx avx2 avx512f fma sse4a_only"},
            "SIMD features that differ: none then, avx512f now",
        ),
        ({"simd": None}, "SIMD features was avx avx2 fma sse4a_only, is None"),
        ({"threads_per_core": 1}, "threads a core was 2, is 1"),
    ],
)
def test_a_baseline_of_another_machine_is_shown_with_each_fact_that_differs(
    now: dict[str, Any], said: str
):
    found = level(a_stored(sessions=(a_session(facts=EPYC),)), **{**EPYC, **now})
    reason = f"saved on another machine: {said}; the change is shown, not judged"
    assert found.foreign == Ended(Outcome.INCOMPARABLE, reason, shown=True)


def test_a_baseline_of_this_machine_is_judged():
    assert level(a_stored(sessions=(a_session(facts=EPYC),)), **EPYC).foreign is None


def test_a_bare_name_is_not_enough_to_be_this_machine():
    bare = {**FACTS, "cpu": "AMD EPYC"}
    found = level(a_stored(sessions=(a_session(facts=bare),)), **EPYC)
    assert found.foreign is not None
    assert found.foreign.reason == (
        "saved on another machine: vendor, family, model, stepping, caches, SIMD features, "
        "threads a core not recorded then; the change is shown, not judged"
    )


# -- which stored sizes may be compared with ----------------------------------------------------


VALUES = {"peak_rss": (5e6, 5e6, 5e6), "traced_peak": (4e6, 4e6, 4e6)}
MEMORY = StoredMemory("2030-01-02", "a" * 40, False, FACTS, 30, VALUES)
STORED = a_stored(memory=MEMORY)
BY_NAME = {metric.name: metric for metric in METRICS}


def test_under_the_same_facts_all_sizes_may_be():
    level = memory_level(STORED, "abc", FACTS)
    assert level == MemoryLevel(VALUES, repeats=30)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"cpu": "Another"}, "cpu was Some CPU, is Another"),
        ({"family": "26", "simd": "avx"}, "family, SIMD features not recorded then"),
    ],
)
def test_on_another_machine_only_what_was_traced_may_be(now: dict[str, Any], said: str):
    level = memory_level(STORED, "abc", {**FACTS, **now})
    assert isinstance(level, MemoryLevel)
    assert level.ended_for(BY_NAME["traced_peak"]) is None
    ended = level.ended_for(BY_NAME["peak_rss"])
    assert ended is not None
    assert said in ended.reason


def test_under_another_python_nothing_may_be():
    level = memory_level(STORED, "abc", {**FACTS, "python": "3.12"})
    assert isinstance(level, Ended)
    assert "Python version was 3.11, is 3.12" in level.reason


def test_sizes_of_another_benchmark_may_not_be():
    level = memory_level(STORED, "xyz", FACTS)
    assert isinstance(level, Ended)
    assert level.reason.startswith("the benchmark itself changed")


def test_where_none_are_stored_there_is_no_level():
    assert memory_level(a_stored(), "abc", FACTS) is None
