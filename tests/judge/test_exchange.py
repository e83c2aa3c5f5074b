"""Messages, volumes and bytes of an exchange."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.exchange import bytes_at, messages, said_a_sync, slowest_of, volumes
from pytest_rlperf.model.projection import Collective
from tests.factories import examples
from tests.judge.measured_jobs import a_job, said

SENT = ((1_000.0, 100.0), (4_000.0, 200.0))


@pytest.mark.parametrize(
    ("collective", "ranks", "latencies", "volume"),
    [
        (Collective.ALLGATHERV, 2, 2, 1),
        (Collective.ALLGATHERV, 16, 8, 15),
        (Collective.ALLGATHERV, 17, 10, 16),
        (Collective.RING, 2, 2, 1),
        (Collective.RING, 16, 19, 15),
        (Collective.ALLREDUCE, 2, 2, 1),
        (Collective.ALLREDUCE, 16, 8, 1.875),
    ],
)
def test_latencies_and_volumes_are_those_of_the_algorithm(
    collective: Collective, ranks: int, latencies: int, volume: float
):
    assert messages(collective, ranks) == latencies
    assert volumes(collective, ranks) == volume


@pytest.mark.parametrize("collective", Collective)
def test_one_rank_exchanges_nothing_and_waits_for_nobody(collective: Collective):
    assert (messages(collective, 1), volumes(collective, 1), slowest_of(1)) == (0, 0, 0)


@pytest.mark.parametrize("collective", Collective)
def test_more_ranks_never_cost_less(collective: Collective):
    for cost in (lambda p: messages(collective, p), lambda p: volumes(collective, p), slowest_of):
        costs = [cost(ranks) for ranks in range(1, 300)]
        assert costs == sorted(costs)


@pytest.mark.parametrize(("ranks", "largest"), [(2, 0.564), (4, 1.029), (16, 1.766), (256, 2.826)])
def test_the_slowest_lies_as_far_behind_as_the_largest_of_normal_values(ranks: int, largest: float):
    assert slowest_of(ranks) == pytest.approx(largest / 0.564, rel=0.05)


@pytest.mark.parametrize("collective", Collective)
@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_what_a_rank_has_to_say_is_not_multiplied_by_who_hears_it(
    collective: Collective, ranks: int
):
    job = a_job(ranks=ranks, collective=collective)
    assert said_a_sync(job, collective) == pytest.approx(said("Small-v0", 500), rel=0.01)


@pytest.mark.parametrize(
    ("period", "size"), [(10, 100), (1_000, 100), (2_000, 141.42), (4_000, 200), (8_000, 400)]
)
def test_bytes_follow_what_was_measured_and_outside_the_most_they_can_be(
    period: float, size: float
):
    assert bytes_at(period, SENT) == pytest.approx(size, rel=1e-4)


@examples
@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_a_longer_period_sends_more_and_less_for_each_step(one: float, other: float):
    short, long = sorted((one, other))
    assert bytes_at(short, SENT) <= bytes_at(long, SENT) * (1 + 1e-9)
    assert bytes_at(short, SENT) / short >= bytes_at(long, SENT) / long * (1 - 1e-9)
