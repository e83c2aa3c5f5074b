"""What each phase adds to the time of a test, and the drift of its slices within a block."""

import math
import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.metrics.within_run import (
    DOUBT,
    LEAST_SLICES,
    drift_of,
    phases_of,
    render_drift,
    render_moved,
    render_phase_table,
    slope,
)
from pytest_rlperf.model.block import (
    LEAST_BLOCKS,
    OUTSIDE,
    Block,
    Drift,
    PhaseResult,
    SideBlock,
    SideDrift,
)
from pytest_rlperf.model.metric import Interval
from pytest_rlperf.report.result_file import run_as_dict
from pytest_rlperf.report.terminal import remarks
from tests.factories import a_test, block, examples, run_result, side

MS = 10**6


def blocks(
    head: Mapping[str, float], base: Mapping[str, float] | None, seed: int = 1
) -> list[Block]:
    """Nanoseconds by phase, and in `rest`; every block has its own speed of the machine."""
    rng = random.Random(seed)
    found = []
    for _ in range(6):
        speed = rng.uniform(0.5, 2.0)
        found.append(
            Block(_side(head, speed, rng), _side(base, speed, rng) if base else None, core=0)
        )
    return found


def _side(times: Mapping[str, float], speed: float, rng: random.Random) -> SideBlock:
    taken = {name: ns * speed * math.exp(rng.gauss(0, 0.001)) for name, ns in times.items()}
    whole = sum(taken.values())
    shares = {name: ns / whole for name, ns in taken.items() if name != "rest"}
    return side([round(whole)], phases=shares)


def named(found: tuple[PhaseResult, ...]) -> dict[str, PhaseResult]:
    return {phase.name: phase for phase in found}


def test_the_phase_that_became_slower_is_the_one_that_moved():
    base = {"act": 6 * MS, "learn": 3 * MS, "rest": MS}
    found = named(phases_of(blocks({**base, "learn": 5 * MS}, base)))
    assert [name for name, phase in found.items() if phase.moved] == ["learn"]
    learn = found["learn"]
    assert learn.adds is not None
    assert learn.adds.change == pytest.approx(0.2, abs=0.005)
    assert learn.base_share == pytest.approx(0.3, abs=0.01)
    assert learn.share == pytest.approx(5 / 12, abs=0.01)


def test_the_largest_phase_comes_first_and_the_rest_last():
    found = phases_of(blocks({"act": MS, "learn": 3 * MS, "rest": 6 * MS}, None))
    assert [phase.name for phase in found] == ["learn", "act", OUTSIDE]
    assert found[0].adds is None
    assert found[0].base_share is None


@examples
@given(st.lists(st.integers(1, 100), min_size=6, max_size=6))
def test_what_the_phases_add_is_the_change_of_the_test(ns: list[int]):
    head = {"a": ns[0] * MS, "b": ns[1] * MS, "rest": ns[2] * MS}
    base = {"a": ns[3] * MS, "b": ns[4] * MS, "rest": ns[5] * MS}
    found = phases_of(blocks(head, base))
    added = sum(phase.adds.change for phase in found if phase.adds)
    change = sum(head.values()) / sum(base.values()) - 1
    assert added == pytest.approx(change, abs=0.01 * (2 + change))


def test_a_phase_that_one_side_lacks_took_no_time_there():
    found = named(phases_of(blocks({"new": MS, "rest": MS}, {"old": MS, "rest": MS})))
    assert (found["new"].base_ns, found["old"].ns) == (0.0, 0.0)
    assert found["new"].moved
    assert found["old"].moved


def test_a_base_without_phases_is_not_compared():
    found = named(phases_of(blocks({"learn": MS, "rest": MS}, {"rest": 2 * MS})))
    assert found["learn"].base_share is None
    assert found["learn"].adds is None


def test_a_test_without_phases_has_none():
    assert phases_of([block([MS], [MS])] * 5) == ()
    assert phases_of([]) == ()


# -- drift within blocks: found where slices grow, and nowhere else -----------------------------


RUNS = 400

times = st.lists(st.integers(10**4, 10**8), min_size=LEAST_SLICES, max_size=40)


def slices(rng: random.Random, number: int, growth: float, noise: float = 0.02) -> list[int]:
    """`growth`: of the logarithm, from the first slice to the last."""
    steps = [growth * k / (number - 1) for k in range(number)]
    return [round(MS * math.exp(step + rng.gauss(0, noise))) for step in steps]


def drifting_blocks(
    seed: int, head: float, base: float | None, number: int = 8, lengths: Sequence[int] = (32,)
) -> list[Block]:
    rng = random.Random(seed)
    found = []
    for k in range(number):
        n = lengths[k % len(lengths)]
        found.append(block(slices(rng, n, head), None if base is None else slices(rng, n, base)))
    return found


@examples
@given(st.floats(-0.1, 0.1), st.integers(LEAST_SLICES, 60))
def test_the_slope_of_a_straight_line_is_its_own(growth: float, number: int):
    assert slope([math.exp(growth * k) for k in range(number)]) == pytest.approx(growth, abs=1e-9)


@examples
@given(times, st.floats(0.01, 100))
def test_a_faster_machine_has_the_same_slope(found: list[int], times_faster: float):
    assert slope([ns / times_faster for ns in found]) == pytest.approx(slope(found), abs=1e-9)


@examples
@given(times)
def test_slices_in_reverse_order_have_the_opposite_slope(found: list[int]):
    assert slope(found[::-1]) == pytest.approx(-slope(found), abs=1e-9)


@examples
@given(st.integers(0, 31), st.floats(0.01, 100))
def test_one_disturbed_slice_makes_no_slope(where: int, how_much: float):
    found = [float(MS)] * 32
    found[where] *= how_much
    assert slope(found) == pytest.approx(0.0, abs=1e-12)


def test_slices_that_grow_are_reported_with_what_they_grow_by():
    drift = drift_of(drifting_blocks(1, head=math.log(1.12), base=None))
    assert drift is not None
    assert drift.slices == 32
    assert drift.head.matters
    assert drift.head.change.change == pytest.approx(0.12, abs=0.01)
    assert drift.head.change.low < 0.12 < drift.head.change.high
    assert drift.base is None


def test_of_blocks_that_differ_in_length_the_same_slices_are_looked_at():
    """What grows in steps of the logarithm, as a list does, grows less and less."""
    lengths = (16, 64, 16, 256, 16, 32)
    found = drift_of(
        [block([round(MS * math.log(2 + k)) for k in range(n)], None) for n in lengths]
    )
    assert found is not None
    assert found.slices == 16
    assert found.head.matters
    assert found.head.change.width == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("base", "too"), [(0.12, True), (0.0, False)])
def test_the_base_is_asked_the_same(base: float, too: bool):
    drift = drift_of(drifting_blocks(3, head=0.12, base=base))
    assert drift is not None
    assert drift.head.matters
    assert drift.base is not None
    assert drift.base.matters == too


@pytest.mark.parametrize(
    ("seed", "growth"), [(4, -0.2), (5, 0.01)], ids=["slices that get faster", "too little"]
)
def test_what_changes_no_verdict_is_no_drift_that_matters(seed: int, growth: float):
    drift = drift_of(drifting_blocks(seed, head=growth, base=None))
    assert drift is not None
    assert not drift.head.matters


def test_steady_slices_hardly_ever_drift():
    found = [drift_of(drifting_blocks(seed, head=0.0, base=None, number=5)) for seed in range(RUNS)]
    assert sum(drift is not None and drift.head.matters for drift in found) <= 2 * DOUBT * RUNS


@pytest.mark.parametrize(
    ("number", "length"), [(LEAST_BLOCKS - 1, 32), (LEAST_BLOCKS, LEAST_SLICES - 1)]
)
def test_too_few_blocks_or_slices_tell_nothing(number: int, length: int):
    assert (
        drift_of(drifting_blocks(6, head=0.5, base=None, number=number, lengths=(length,))) is None
    )


# -- phases as text and data --------------------------------------------------------------------


ACT = PhaseResult("act", 0.5, 6e6, 0.6, 6e6, Interval(0.001, -0.002, 0.004))
LEARN = PhaseResult("learn", 0.42, 5e6, 0.3, 3e6, Interval(0.2, 0.19, 0.21), moved=True)
REST = PhaseResult(OUTSIDE, 0.08, 1e6, 0.1, 1e6, Interval(0.0, -0.001, 0.001))
TEST = a_test(phases=(ACT, LEARN, REST))


def test_the_table_shows_the_shares_and_which_phase_moved():
    assert [" ".join(line.split()) for line in render_phase_table(run_result(TEST))] == [
        "phase share adds 95 % interval base → head test",
        "act 60 % → 50 % +0.10 % [-0.20, +0.40 %] 6 ms → 6 ms test_a.py::test_a",
        "moved learn 30 % → 42 % +20.0 % [+19.0, +21.0 %] 3 ms → 5 ms test_a.py::test_a",
        "outside of phases 10 % → 8 % +0.00 % [-0.10, +0.10 %] 1 ms → 1 ms test_a.py::test_a",
    ]


def test_without_a_base_there_are_shares_only():
    alone = a_test(phases=(PhaseResult("act", 0.5, 6e6),))
    table = render_phase_table(run_result(alone, against=None))
    assert table[1].split() == ["act", "50", "%", "6", "ms", "test_a.py::test_a"]


def test_a_failure_names_what_moved():
    assert list(render_moved(TEST)) == ["  phases: learn adds +20.0 % of the whole call"]
    assert list(render_moved(a_test())) == []


def test_a_run_without_phases_has_no_table():
    assert render_phase_table(run_result(a_test())) == []


def test_the_result_has_a_row_a_phase():
    assert run_as_dict(run_result(TEST), 0)["tests"][0]["phases"][1] == {
        "name": "learn",
        "share": 0.42,
        "ns": 5e6,
        "base_share": 0.3,
        "base_ns": 3e6,
        "moved": True,
        "change": 0.2,
        "low": 0.19,
        "high": 0.21,
    }


# -- drift as text and data ---------------------------------------------------------------------


GROWING = SideDrift(Interval(0.12, 0.09, 0.15), matters=True)
STEADY = SideDrift(Interval(0.002, -0.01, 0.012), matters=False)


def test_growing_slices_are_a_remark_of_their_test():
    test = a_test(drift=Drift(32, GROWING))
    assert list(remarks(test)) == [
        "slices get slower as a block goes on: +12.0 % [+9.0, +15.0 %] from the first to the "
        "last of 32"
    ]


def test_it_is_said_whether_the_base_has_it_too():
    both, head_only = (
        render_drift(Drift(32, GROWING, GROWING)),
        render_drift(Drift(32, GROWING, STEADY)),
    )
    assert both is not None
    assert both.endswith("; so they do on the base (+12.0 %)")
    assert head_only is not None
    assert head_only.endswith("; not on the base (+0.20 %)")


def test_steady_slices_are_not_worth_a_word():
    assert render_drift(Drift(32, STEADY, GROWING)) is None
    assert render_drift(None) is None


def test_the_result_has_the_numbers_whether_they_matter_or_not():
    tests = a_test(), a_test(drift=Drift(32, STEADY, GROWING))
    without, with_drift = run_as_dict(run_result(*tests), 0)["tests"]
    assert without["drift"] is None
    assert with_drift["drift"] == {
        "slices": 32,
        "head": {"change": 0.002, "low": -0.01, "high": 0.012, "matters": False},
        "base": {"change": 0.12, "low": 0.09, "high": 0.15, "matters": True},
    }
