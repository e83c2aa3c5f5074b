"""A suite in shards has one budget of false alarms, however many shards it has."""

import random

import pytest

from pytest_rlperf.stats.decide import BUILD_LEVEL, SUSPECT_RATE, Gate
from tests.shards.false_alarms import SPREADS, SUITE, THRESHOLD, called, shards


def test_every_shard_leaves_as_little_to_chance_as_the_whole_suite_would():
    together = 0.0
    for gate, own in shards():
        assert gate == Gate(THRESHOLD, len(SUITE))
        suspicion = len(gate.looks) * SUSPECT_RATE
        together += len(own) * (suspicion * gate.confirm.unchanged + gate.last.unchanged)
    assert together <= BUILD_LEVEL * 1.000001


@pytest.mark.parametrize("spread", SPREADS)
def test_unchanged_tests_of_all_shards_are_called_in_no_build(spread: float):
    # At 1 % of builds 20 would hold one in 18 % of runs, and they are seeded; how many of 1,000
    # builds are called, `python -m tests.shards.false_alarms 1000` says.
    rng = random.Random(f"few at {spread}")
    assert not any(called(rng, spread) for _ in range(20))
