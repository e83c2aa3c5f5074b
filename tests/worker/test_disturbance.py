"""Disturbing a core on purpose: evenly over blocks and cores."""

import itertools
from collections import Counter

import pytest

from pytest_rlperf.gate.partners import SAVE_BLOCKS
from pytest_rlperf.worker.disturbance import SHAKES, shake_of


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 6, 8, 9, 64])
def test_the_blocks_of_a_save_are_shared_out_evenly(cores: int):
    blocks = Counter(shake_of(index, cores) for index in range(1, SAVE_BLOCKS + 1))
    assert blocks.keys() == set(SHAKES)
    assert max(blocks.values()) - min(blocks.values()) <= 2


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 6, 8, 9, 64])
def test_every_core_meets_every_disturbance(cores: int):
    met = {(index % cores, shake_of(index, cores)) for index in range(3 * cores)}
    assert met == set(itertools.product(range(cores), SHAKES))
