"""Plans for a duet with the kernels: all of them in every slice, together as long as the test's."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.measure.kernel_plan import PIECE_NS, with_kernels
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from tests.factories import examples

MS = 10**6
UNIT_NS = {"b": 100_000.0, "a": 50_000.0}
PLAN = Plan(Mode.SLICED, calls=2, pairs=32, warmup=1)
SEEN = Scouted(call_ns=MS, first_ns=MS, cpu_share=1.0, processes=1)


def test_the_kernels_share_a_slice_equally():
    found = with_kernels(PLAN, SEEN, UNIT_NS)
    assert found == replace(PLAN, kernels=(("a", 20), ("b", 10)), kernel_rounds=1)


def test_in_a_long_slice_they_take_turns_again_and_again():
    found = with_kernels(PLAN, replace(SEEN, call_ns=250 * MS), UNIT_NS)
    assert (found.kernels, found.kernel_rounds) == ((("a", 20), ("b", 10)), 250)


def test_the_kernels_meet_the_test_in_every_slice():
    abreast = Plan(Mode.CONCURRENT, calls=1, pairs=8, warmup=1, abreast=True)
    assert not with_kernels(abreast, SEEN, UNIT_NS).abreast


def test_a_kernel_is_called_once_at_least():
    assert with_kernels(PLAN, replace(SEEN, call_ns=100), UNIT_NS).kernels == (("a", 1), ("b", 1))


@examples
@given(
    st.floats(1e2, 1e11),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(1e4, 2e5), min_size=1),
)
def test_no_piece_is_long_and_all_together_fill_the_slice(
    call_ns: float, unit_ns: dict[str, float]
):
    found = with_kernels(PLAN, replace(SEEN, call_ns=call_ns), unit_ns)
    pieces = [calls * unit_ns[name] for name, calls in found.kernels]
    longest = max(unit_ns.values())
    assert max(pieces) <= 1.5 * PIECE_NS + longest
    whole = found.kernel_rounds * sum(pieces)
    slack = found.kernel_rounds * len(unit_ns) * longest  # whole calls only
    assert whole == pytest.approx(PLAN.calls * call_ns, abs=slack)
