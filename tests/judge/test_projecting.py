"""What is projected keeps within what can be, and follows from the terms."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.job_fit import fit_jobs
from pytest_rlperf.judge.projecting import modelled, project, sent_by_period, shortest_period
from pytest_rlperf.model.projection import Collective, Network, Part, Plan, Terms
from pytest_rlperf.model.rank_spec import Scaling
from tests.factories import examples
from tests.judge.measured_jobs import a_job, some_jobs

NODES = (4, 8, 16, 32, 64, 128, 256)
ETHERNET = Network(50e-6, 1 / 1.25e9)
PLAN = Plan(Scaling.STRONG, 10_000_000, 1_000, Collective.ALLGATHERV, ((1_000.0, 10_000.0),))
TERMS = Terms(100e-9, 0.0, (ETHERNET,))

NETWORKS = st.builds(Network, st.floats(0, 1e-3), st.floats(0, 1e-6), st.floats(0, 1))
ONE_OR_TWO = st.tuples(NETWORKS) | st.tuples(NETWORKS, NETWORKS)
ANY_TERMS = st.builds(Terms, st.floats(1e-9, 1e-4), st.floats(0, 1), ONE_OR_TWO)
PLANS = st.builds(
    Plan,
    st.sampled_from(Scaling),
    st.integers(256, 10**9),
    st.floats(1, 1e6),
    st.sampled_from(Collective),
    st.just(((500.0, 5_000.0), (2_000.0, 12_000.0))),
)


@examples
@given(ANY_TERMS, PLANS)
def test_efficiency_is_a_share_and_falls_with_the_nodes(terms: Terms, plan: Plan):
    found = [modelled(terms, plan, nodes).efficiency for nodes in (1, 2, 3, *NODES)]
    assert all(0 < efficiency <= 1 for efficiency in found)
    for fewer, more in pairwise(found):
        assert more <= fewer * (1 + 1e-9)


@examples
@given(ANY_TERMS, PLANS, st.floats(1, 100))
def test_efficiency_grows_with_the_period(terms: Terms, plan: Plan, factor: float):
    longer = modelled(terms, plan.every(plan.period * factor), 16)
    assert longer.efficiency >= modelled(terms, plan, 16).efficiency * (1 - 1e-9)


@examples
@given(ANY_TERMS, PLANS, st.sampled_from(NODES), st.floats(0.05, 0.99))
def test_the_period_of_a_target_is_the_shortest_that_holds_it(
    terms: Terms, plan: Plan, nodes: int, target: float
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
    assert point.parts[Part.COMPUTING] == pytest.approx(0.0625)
    assert point.parts[Part.LATENCY] == pytest.approx(625 * 8 * 50e-6)
    assert point.parts[Part.BANDWIDTH] == pytest.approx(625 * 15 * 10_000 / 1.25e9)
    assert point.efficiency == pytest.approx(0.0625 / (0.0625 + 0.25 + 0.075))
    assert point.speedup == pytest.approx(16 * point.efficiency)
    assert (point.limit, point.steps, point.modelled) == (Part.LATENCY, 10_000_000, True)


def test_weak_scaling_gives_each_node_all_steps():
    point = modelled(TERMS, replace(PLAN, scaling=Scaling.WEAK), 16)
    assert point.steps == 160_000_000
    assert point.parts[Part.COMPUTING] == pytest.approx(1.0)
    assert point.efficiency == pytest.approx(modelled(TERMS, PLAN, 16).efficiency)


def test_a_job_that_is_shorter_than_a_period_synchronises_once():
    plan = replace(PLAN, steps=16_000, period=100_000)
    assert modelled(TERMS, plan, 16).parts[Part.LATENCY] == pytest.approx(8 * 50e-6)


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
    for part in (Part.LATENCY, Part.BANDWIDTH):
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
