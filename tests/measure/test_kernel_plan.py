"""Plans for a duet with the kernels: each of them has a slice, and slices are equally long."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.measure.kernel_plan import with_kernels
from pytest_rlperf.measure.planning import choose_plan
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.spec import Spec
from tests.factories import examples

MS = 10**6
UNIT_NS = {"a": 50_000.0, "b": 100_000.0, "c": 50_000.0, "d": 50_000.0, "e": 3 * MS}
PLAN = Plan(Mode.SLICED, calls=2, pairs=32, warmup=1)
SEEN = Scouted(call_ns=MS, first_ns=MS, cpu_share=1.0, processes=1)


def test_slices_of_a_kernel_are_as_long_as_those_of_the_test():
    found = with_kernels(PLAN, Spec(), SEEN, ["a", "b"], UNIT_NS)
    assert found == replace(PLAN, kernels=(("a", 40), ("b", 20)))


def test_a_kernel_is_called_once_at_least():
    assert with_kernels(PLAN, Spec(), SEEN, ["e"], UNIT_NS).kernels == (("e", 1),)


def test_a_long_call_gets_as_many_pairs_as_there_are_kernels():
    long = Plan(Mode.CONCURRENT, calls=1, pairs=1, warmup=0)
    found = with_kernels(long, Spec(), SEEN, list(UNIT_NS), UNIT_NS)
    assert (found.calls, found.pairs) == (1, 8)


@pytest.mark.parametrize(("iterations", "calls", "pairs"), [(64, 2, 32), (10, 2, 5), (6, 1, 6)])
def test_a_fixed_number_of_calls_is_cut_into_shorter_slices(
    iterations: int, calls: int, pairs: int
):
    spec = Spec(iterations=iterations)
    plan = replace(PLAN, calls=2, pairs=-(-iterations // 2))
    found = with_kernels(plan, spec, SEEN, list(UNIT_NS), UNIT_NS)
    assert (found.calls, found.pairs) == (calls, pairs)


@pytest.mark.parametrize(
    ("calls", "pairs", "cut"), [(12, 1, (2, 6)), (4, 2, (1, 8)), (5, 8, (5, 8))]
)
def test_rounds_that_a_test_counts_itself_are_cut_into_equal_slices(
    calls: int, pairs: int, cut: tuple[int, int]
):
    plan = replace(PLAN, calls=calls, pairs=pairs, exact=True)
    found = with_kernels(plan, Spec(), SEEN, list(UNIT_NS), UNIT_NS)
    assert (found.calls, found.pairs) == cut


def test_where_calls_are_too_few_the_first_kernels_will_do_for_a_save():
    single = replace(PLAN, calls=1, pairs=1, exact=True)
    found = with_kernels(single, Spec(), SEEN, ["a", "b"], UNIT_NS, some=True)
    assert (found.kernels, found.pairs) == ((("a", 20),), 1)


def test_a_stored_mix_is_played_whole_even_where_the_test_now_asks_for_fewer_calls():
    spec = Spec(iterations=1)
    single = replace(PLAN, calls=1, pairs=1)
    found = with_kernels(single, spec, SEEN, ["a", "b"], UNIT_NS)
    assert (len(found.kernels), found.pairs) == (2, 2)


@examples
@given(
    st.floats(1e3, 1e10),
    st.integers(0, 40),
    st.one_of(st.none(), st.integers(1, 40)),
    st.lists(st.sampled_from(sorted(UNIT_NS)), min_size=1, unique=True),
    st.booleans(),
)
def test_every_kernel_has_a_slice(
    call_ns: float, rounds: int, iterations: int | None, kernels: list[str], some: bool
):
    seen = replace(SEEN, call_ns=call_ns, rounds=rounds)
    spec = Spec(iterations=iterations)
    plan = choose_plan(seen, spec, cores=2)
    found = with_kernels(plan, spec, seen, kernels, UNIT_NS, some=some)
    assert 1 <= len(found.kernels) <= found.pairs
    if some and rounds:
        assert found.calls * found.pairs == plan.calls * plan.pairs
