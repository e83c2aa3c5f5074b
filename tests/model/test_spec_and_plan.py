"""Data that travels between processes arrives as it left; what cannot be is refused."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.metric import COMPARED, UNSURE, Interval, Outcome
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.spec import KEYWORDS, Spec
from pytest_rlperf.reading import typed
from pytest_rlperf.wire import BASE, Job, plain
from tests.factories import examples, side

positive = st.integers(1, 10**7)
plans = st.builds(
    Plan,
    mode=st.sampled_from(Mode),
    calls=positive,
    pairs=positive,
    warmup=st.integers(0, 10),
    cores=positive,
    wall=st.booleans(),
)


@examples
@given(plans)
def test_a_plan_survives_the_way_to_a_worker(plan: Plan):
    assert typed(Plan, json.loads(json.dumps(plain(plan)))) == plan


def test_a_job_survives_the_way_to_a_worker():
    job = Job(
        side=BASE,
        root="/base",
        cwd="/base/tests",
        tree="/base",
        head_tree="/head",
        import_roots=("src", "."),
        sys_path=("/head", ""),
        pytest_args=("-q",),
        options={"depth": 3, "names": ["a"]},
        nodeids=("test_a.py::test_a[é]",),
        channel_fd=3,
        baton_fd=None,
        layout_seed=7,
    )
    assert typed(Job, json.loads(json.dumps(plain(job)))) == job


@pytest.mark.parametrize("wrong", [{"calls": 0}, {"pairs": 0}, {"cores": 0}, {"warmup": -1}])
def test_a_plan_without_a_call_is_refused(wrong: dict[str, Any]):
    with pytest.raises(ValueError, match="at least one call, pair and core"):
        replace(Plan(Mode.SLICED, calls=1, pairs=1, warmup=0), **wrong)


def test_only_sides_that_run_at_once_go_abreast():
    together = Plan(Mode.CONCURRENT, calls=1, pairs=1, warmup=0, abreast=True)
    with pytest.raises(ValueError, match="sides that take turns meet"):
        replace(together, mode=Mode.SLICED)


def test_every_field_of_a_spec_is_a_keyword_with_a_default():
    assert set(KEYWORDS) == {field.name for field in fields(Spec)}
    assert Spec() == Spec(**{name: getattr(Spec(), name) for name in KEYWORDS})


@pytest.mark.parametrize("times", [(), (5, 0), (5, -1)])
def test_a_block_needs_slices_that_took_time(times: tuple[int, ...]):
    with pytest.raises(ValueError, match="slices that took time"):
        side(times)


def test_the_time_of_a_call_is_the_mean_over_all_calls_of_all_slices():
    assert side([100, 300], calls=4).call_ns == 50


def test_an_interval_is_as_wide_as_its_ends_are_apart():
    assert Interval(change=0.02, low=-0.01, high=0.05).width == pytest.approx(0.06)


def test_only_an_inconclusive_comparison_is_a_comparison_that_strictness_fails():
    assert set(COMPARED & UNSURE) == {Outcome.INCONCLUSIVE}


def test_a_plan_for_two_sides_reckons_with_the_worse_of_each_thing_seen():
    one = Scouted(call_ns=100, first_ns=900, cpu_share=1.0, processes=1, has_setup=True, setup_ns=5)
    two = Scouted(call_ns=300, first_ns=400, cpu_share=0.5, processes=4)
    worst = Scouted(
        call_ns=300, first_ns=900, cpu_share=0.5, processes=4, has_setup=True, setup_ns=5
    )
    assert one.worst(two) == two.worst(one) == worst
    assert one.worst(one) == one
