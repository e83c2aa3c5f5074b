"""SplitMix64: its published numbers, and streams that do not meet."""

import numpy as np

from rl_impls.splitmix import GAMMA, mixed, streams, uniform


def test_the_numbers_are_those_of_the_reference_implementation():
    counters = np.arange(1, 4, dtype=np.uint64) * GAMMA  # seed 0
    assert [hex(value) for value in mixed(counters)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_streams_of_equal_seeds_are_equal_and_all_others_differ():
    np.testing.assert_array_equal(streams(3, 5), streams(3, 8)[:5])
    together = np.concatenate([streams(seed, 1000) for seed in range(20)])
    assert len(np.unique(together)) == len(together)
    assert streams(None, 1) != streams(None, 1)


def test_uniform_numbers_fill_their_range():
    chance = streams(0, 1)
    with np.errstate(over="ignore"):
        drawn = [uniform(chance, 0, -2.0, 6.0) for _ in range(4000)]
    counts, _ = np.histogram(drawn, bins=8, range=(-2.0, 6.0))
    assert counts.sum() == 4000
    assert np.abs(counts - 500).max() < 105  # 5 standard deviations
