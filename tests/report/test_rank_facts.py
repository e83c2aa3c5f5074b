"""What the ranks of a test did, over its blocks."""

from dataclasses import replace

import pytest

from pytest_rlperf.model.block import Block, RankFacts, SideBlock
from pytest_rlperf.report.rank_facts import rank_facts, render_ranks
from tests.factories import a_test

SIDE = SideBlock(own_ns=(40, 40), wall_ns=(40, 40), cpu_ns=(80, 80), calls=2)


def block(*own_ns: float, communication: tuple[float, ...] = (0.0, 0.5)) -> Block:
    return Block(replace(SIDE, ranks=RankFacts(own_ns, communication, (1000.0, 3000.0))))


def test_times_are_those_of_a_call_medians_over_blocks():
    facts = rank_facts(replace(a_test(), blocks=(block(40, 80), block(44, 80), block(400, 80))))
    assert facts is not None
    assert facts["time_ns"] == [11, 20]
    assert (facts["time_min_ns"], facts["time_median_ns"], facts["time_max_ns"]) == (11, 15.5, 20)
    assert facts["communication"] == [0.0, 0.5]
    assert facts["peak_bytes"] == [1000, 3000]


def test_imbalance_counts_computing_only():
    ranks = RankFacts((80.0, 80.0), (0.0, 0.5), (1.0, 1.0))
    assert ranks.imbalance == pytest.approx(80 / 60 - 1)
    assert RankFacts((5.0,), (1.0,), (1.0,)).imbalance == 0.0


def test_ranks_are_told_in_a_line():
    assert render_ranks(replace(a_test(), blocks=(block(40, 80),))) == (
        "2 ranks, 10 ns to 20 ns a call, imbalance 0.00 %, communicating for 0 to 50 % of it, "
        "peak of a rank 2.93 KiB"
    )


def test_a_test_without_ranks_has_none():
    assert rank_facts(a_test()) is None
    assert render_ranks(a_test()) is None
