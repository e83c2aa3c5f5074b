"""Time in reference units: ratios to kernels, and which kernels a test is measured in."""

import math
import random
import statistics
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.reference import (
    CLOCK,
    HANDICAP,
    combined,
    fit_weights,
    kernel_ratios,
)
from pytest_rlperf.model.block import Block, LogRatios, Reference
from tests.factories import block, examples, side

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
