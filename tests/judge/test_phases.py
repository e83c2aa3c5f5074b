"""What each phase adds to the time of a test."""

import math
import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.phases import phases_of
from pytest_rlperf.model.block import Block, SideBlock
from pytest_rlperf.model.phase import OUTSIDE, PhaseResult
from tests.factories import block, examples, side

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
