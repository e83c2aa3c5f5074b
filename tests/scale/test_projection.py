"""What is projected keeps within what can be, and follows from the terms."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.scale.fit import fit_jobs
from pytest_rlperf.scale.jobs import Collective, Network, ScalePlan, Terms, TimePart
from pytest_rlperf.scale.projection import (
    bytes_at,
    lag_of_slowest,
    messages,
    modelled,
    payload_per_sync,
    project,
    sent_by_period,
    shortest_period,
    volumes,
)
from tests.factories import examples
from tests.scale.measured_jobs import a_job, said, some_jobs

NODES = (4, 8, 16, 32, 64, 128, 256)
ETHERNET = Network(50e-6, 1 / 1.25e9)
PLAN = ScalePlan(Scaling.STRONG, 10_000_000, 1_000, Collective.ALLGATHERV, ((1_000.0, 10_000.0),))
TERMS = Terms(100e-9, 0.0, (ETHERNET,))

NETWORKS = st.builds(Network, st.floats(0, 1e-3), st.floats(0, 1e-6), st.floats(0, 1))
ONE_OR_TWO = st.tuples(NETWORKS) | st.tuples(NETWORKS, NETWORKS)
ANY_TERMS = st.builds(Terms, st.floats(1e-9, 1e-4), st.floats(0, 1), ONE_OR_TWO)
PLANS = st.builds(
    ScalePlan,
    st.sampled_from(Scaling),
    st.integers(256, 10**9),
    st.floats(1, 1e6),
    st.sampled_from(Collective),
    st.just(((500.0, 5_000.0), (2_000.0, 12_000.0))),
)


@examples
@given(ANY_TERMS, PLANS)
def test_efficiency_is_a_share_and_falls_with_the_nodes(terms: Terms, plan: ScalePlan):
    found = [modelled(terms, plan, nodes).efficiency for nodes in (1, 2, 3, *NODES)]
    assert all(0 < efficiency <= 1 for efficiency in found)
    for fewer, more in pairwise(found):
        assert more <= fewer * (1 + 1e-9)


@examples
@given(ANY_TERMS, PLANS, st.floats(1, 100))
def test_efficiency_grows_with_the_period(terms: Terms, plan: ScalePlan, factor: float):
    longer = modelled(terms, plan.every(plan.period * factor), 16)
    assert longer.efficiency >= modelled(terms, plan, 16).efficiency * (1 - 1e-9)


@examples
@given(ANY_TERMS, PLANS, st.sampled_from(NODES), st.floats(0.05, 0.99))
def test_the_period_of_a_target_is_the_shortest_that_holds_it(
    terms: Terms, plan: ScalePlan, nodes: int, target: float
):
    period = shortest_period(terms, plan, nodes, target)
    if period is None:
        whole = plan.every(plan.steps_of_rank(nodes))
        assert modelled(terms, whole, nodes).efficiency < target * (1 + 1e-9)
        return
    assert modelled(terms, plan.every(period), nodes).efficiency >= target
    if period > 1:
        assert modelled(terms, plan.every(period - 1), nodes).efficiency < target


def test_a_row_by_hand():
    """16 nodes, 625,000 steps each: 62.5 ms of computing; 625 exchanges of 8 messages and of
    15 times 10 kB at 1.25 GB/s.
    """
    point = modelled(TERMS, PLAN, 16)
    assert point.parts[TimePart.COMPUTING] == pytest.approx(0.0625)
    assert point.parts[TimePart.LATENCY] == pytest.approx(625 * 8 * 50e-6)
    assert point.parts[TimePart.BANDWIDTH] == pytest.approx(625 * 15 * 10_000 / 1.25e9)
    assert point.efficiency == pytest.approx(0.0625 / (0.0625 + 0.25 + 0.075))
    assert point.speedup == pytest.approx(16 * point.efficiency)
    assert (point.limit, point.steps, point.modelled) == (TimePart.LATENCY, 10_000_000, True)


def test_weak_scaling_gives_each_node_all_steps():
    point = modelled(TERMS, replace(PLAN, scaling=Scaling.WEAK), 16)
    assert point.steps == 160_000_000
    assert point.parts[TimePart.COMPUTING] == pytest.approx(1.0)
    assert point.efficiency == pytest.approx(modelled(TERMS, PLAN, 16).efficiency)


def test_a_job_that_is_shorter_than_a_period_synchronises_once():
    plan = replace(PLAN, steps=16_000, period=100_000)
    assert modelled(TERMS, plan, 16).parts[TimePart.LATENCY] == pytest.approx(8 * 50e-6)


def test_computing_hides_an_exchange_as_far_as_it_is_said_to():
    half = replace(TERMS, networks=(replace(ETHERNET, overlap=0.5),))
    whole = replace(TERMS, networks=(Network(1e-9, 0.0, overlap=1.0),))
    plain, hidden = modelled(TERMS, PLAN, 16), modelled(half, PLAN, 16)
    assert plain.seconds - hidden.seconds == pytest.approx(0.5 * 0.0625)
    assert modelled(whole, PLAN, 16).efficiency == 1
    assert modelled(whole, PLAN, 16).limit is None


def test_a_stated_network_stands_in_place_of_the_fitted_one_and_on_top_of_it():
    fit = fit_jobs(some_jobs(), Collective.ALLGATHERV)
    found = project(fit, "Large-v0", PLAN, [16], ETHERNET, 0.5)
    (row,) = found.rows
    assert row.at_least is not None
    assert row.at_least.point.efficiency < row.expected.point.efficiency
    fitted = project(fit, "Large-v0", PLAN, [16], None, None).rows[0]
    assert fitted.at_least is None
    assert fitted.expected.period is None
    for part in (TimePart.LATENCY, TimePart.BANDWIDTH):
        apart = row.expected.point.parts[part] + fitted.expected.point.parts[part]
        assert row.at_least.point.parts[part] == pytest.approx(apart)


def test_measured_rows_are_those_of_the_period_and_of_one_rank():
    fit = fit_jobs(some_jobs(), Collective.ALLGATHERV)
    found = project(fit, "Large-v0", replace(PLAN, period=2_010), [4], None, None)
    assert [(point.nodes, point.steps) for point in found.measured] == [
        (1, 4_000_000),
        (2, 8_000_000),
    ]
    assert found.measured[0].efficiency == pytest.approx(1)
    assert not found.measured[0].modelled
    assert found.measured[0].limit is None


def test_a_longer_period_never_counts_as_sending_more_for_each_step():
    short, long = a_job(period=500), a_job(period=2_000)
    more = replace(long, bytes_sent=10 * long.bytes_sent)
    (p0, b0), (p1, b1) = sent_by_period([more, short], Collective.ALLGATHERV)
    assert (p0, p1) == (500, 2_000)
    assert b0 / p0 == pytest.approx(b1 / p1)


def test_jobs_of_nearly_one_period_count_as_one():
    sent = sent_by_period([a_job(period=2_000), a_job(period=2_010)], Collective.ALLGATHERV)
    assert len(sent) == 1


# Messages, volumes and bytes of an exchange.


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
    assert (messages(collective, 1), volumes(collective, 1), lag_of_slowest(1)) == (0, 0, 0)


@pytest.mark.parametrize("collective", Collective)
def test_more_ranks_never_cost_less(collective: Collective):
    for cost in (
        lambda p: messages(collective, p),
        lambda p: volumes(collective, p),
        lag_of_slowest,
    ):
        costs = [cost(ranks) for ranks in range(1, 300)]
        assert costs == sorted(costs)


@pytest.mark.parametrize(("ranks", "largest"), [(2, 0.564), (4, 1.029), (16, 1.766), (256, 2.826)])
def test_the_slowest_lies_as_far_behind_as_the_largest_of_normal_values(ranks: int, largest: float):
    assert lag_of_slowest(ranks) == pytest.approx(largest / 0.564, rel=0.05)


@pytest.mark.parametrize("collective", Collective)
@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_what_a_rank_has_to_say_is_not_multiplied_by_who_hears_it(
    collective: Collective, ranks: int
):
    job = a_job(ranks=ranks, collective=collective)
    assert payload_per_sync(job, collective) == pytest.approx(said("Small-v0", 500), rel=0.01)


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
