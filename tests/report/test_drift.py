"""Drift within blocks as text and data."""

from pytest_rlperf.model.drift import Drift, SideDrift
from pytest_rlperf.model.verdict import Interval
from pytest_rlperf.report.drift import drift_as_dict, render_drift
from pytest_rlperf.report.terminal import remarks
from tests.factories import a_test

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
    assert drift_as_dict(None) is None
    assert drift_as_dict(Drift(32, STEADY, GROWING)) == {
        "slices": 32,
        "head": {"change": 0.002, "low": -0.01, "high": 0.012, "matters": False},
        "base": {"change": 0.12, "low": 0.09, "high": 0.15, "matters": True},
    }
