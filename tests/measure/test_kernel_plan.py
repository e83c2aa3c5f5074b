"""Plans for a duet with the kernels: all of them in every slice, together as long as the test's."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.measure.kernel_plan import with_kernels
from pytest_rlperf.measure.kernels import NAMES, PIECE_CALLS
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from tests.factories import examples

MS = 10**6
UNIT_NS = {"stride": 100_000.0, "interpreter": 50_000.0}  # a round takes a millisecond
PLAN = Plan(Mode.SLICED, calls=2, pairs=32, warmup=1)
SEEN = Scouted(call_ns=MS, first_ns=MS, cpu_share=1.0, processes=1)


def test_every_kernel_has_its_calls_of_a_piece():
    assert PIECE_CALLS.keys() == NAMES


def test_all_kernels_play_in_a_slice_as_long_as_the_test():
    found = with_kernels(PLAN, SEEN, UNIT_NS)
    assert found == replace(PLAN, kernels=(("interpreter", 12), ("stride", 4)), kernel_rounds=2)


def test_in_a_long_slice_pieces_are_longer_and_come_again_and_again():
    found = with_kernels(PLAN, replace(SEEN, call_ns=150 * MS), UNIT_NS)
    assert (found.kernels, found.kernel_rounds) == ((("interpreter", 36), ("stride", 12)), 100)


def test_the_kernels_meet_the_test_in_every_slice():
    abreast = Plan(Mode.CONCURRENT, calls=1, pairs=8, warmup=1, abreast=True)
    assert not with_kernels(abreast, SEEN, UNIT_NS).abreast


@examples
@given(
    st.floats(1e2, 1e11),
    st.dictionaries(st.sampled_from(sorted(NAMES)), st.floats(1e4, 2e5), min_size=1),
    st.floats(0.2, 5.0),
)
def test_a_piece_is_the_same_however_fast_the_kernels_seemed(
    call_ns: float, unit_ns: dict[str, float], slower: float
):
    seen = replace(SEEN, call_ns=call_ns)
    found = with_kernels(PLAN, seen, unit_ns)
    again = with_kernels(PLAN, seen, {name: slower * ns for name, ns in unit_ns.items()})
    assert found.kernels == again.kernels
    assert found.kernel_rounds >= 1
    round_ns = sum(calls * unit_ns[name] for name, calls in found.kernels)
    assert abs(found.kernel_rounds * round_ns - PLAN.calls * call_ns) <= max(
        0.5 * round_ns, abs(round_ns - PLAN.calls * call_ns)
    )
