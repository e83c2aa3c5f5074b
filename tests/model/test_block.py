"""One side of a block: what it holds when the test was run again in its process."""

from hypothesis import given
from hypothesis import strategies as st

from tests.factories import examples, side

runs = st.lists(st.lists(st.integers(1, 10**9), min_size=3, max_size=3), min_size=1, max_size=5)


@examples
@given(runs)
def test_all_slices_count_and_the_first_run_is_known(times: list[list[int]]):
    first, *others = [side(each) for each in times]
    block = first
    for other in others:
        block = block.with_replay(other)
    assert list(block.own_ns) == [ns for run in times for ns in run]
    assert len(block.own_ns) == len(block.wall_ns) == len(block.cpu_ns)
    assert (block.replays, list(block.first_run_ns)) == (len(times), times[0])


def test_phases_have_the_mean_share_of_all_runs():
    block = side([1], phases={"act": 0.2, "learn": 0.4})
    for share in (0.5, 0.2):
        block = block.with_replay(side([1], phases={"act": share}))
    assert block.phases == {"act": 0.3, "learn": 0.4 / 3}
