"""Phases outside of a measurement: they do nothing, and refuse what is no name."""

from typing import Any

import pytest

import pytest_rlperf
from pytest_rlperf.errors import FixtureError
from pytest_rlperf.fixtures import Rlperf


def test_a_phase_outside_of_a_measurement_does_nothing():
    with pytest_rlperf.phase("learn"):
        entered = True
    assert entered


def test_it_lets_exceptions_pass():
    with pytest.raises(ZeroDivisionError), pytest_rlperf.phase("learn"):
        raise ZeroDivisionError


@pytest.mark.parametrize("name", ["", "  ", None, 3, []])
def test_what_is_no_name_is_refused_in_one_line(name: Any):
    with pytest.raises(FixtureError, match=r"^a phase is called .*; give it a name: .*$"):
        pytest_rlperf.phase(name)


def test_the_fixture_has_the_same_phases():
    assert Rlperf(None, None).phase("learn") is pytest_rlperf.phase("learn")
