"""The stirred tank beside its differential equations, written down once more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp  # type: ignore[import-untyped]

from rl_impls.envs.control.cstr import jacket, pressure, transition
from rl_impls.envs.control.reactor import SET_POINT

R = 8.314462618
STEP_S = 0.5


def derivatives(_, y, coolant, outlet):
    """The example in its own units, litres, minutes and grams, turned into SI only at the end."""
    c, t, h = y[0] / 1000, y[1], y[2]  # mol/l, K, m
    volume = 100 * h  # l
    feed = 100.0  # l/min
    rate = 7.2e10 * np.exp(-8750 / t)  # 1/min
    capacity = coolant * 4184 * 60  # J/(min K)
    cooled = capacity * (1 - np.exp(-1482.05 * 60 * h / capacity)) * (t - 290)  # J/min
    dc = feed / volume * (1 - c) - rate * c
    dt = feed / volume * (350 - t) + 5e4 * rate * c / (1000 * 0.239)
    dt -= cooled / (1000 * 0.239 * volume)
    dh = (feed - outlet * 60_000) / 100
    return np.array([dc * 1000, dt, dh]) / 60


@pytest.mark.parametrize("seed", range(20))
def test_a_step_follows_the_differential_equations(seed):
    rng = np.random.default_rng(seed)
    start = rng.uniform([300, 335, 0.5], [800, 365, 1.5])
    flows = rng.uniform([0.01, 0.0], [0.4, 2 / 600])
    exact = solve_ivp(derivatives, (0, STEP_S), start, args=tuple(flows), rtol=1e-9, atol=1e-9)
    end = exact.y[:, -1]
    # A method of first order: the error of a step is a small part of what the step changes.
    error = np.abs(np.subtract(transition(*start, *flows), end))
    assert (error <= [0.5, 0.1, 1e-9]).all()


def test_at_the_set_point_half_the_coolant_holds_the_balance():
    c, t, _, h = SET_POINT
    change = np.subtract(transition(c, t, h, 0.2, 1 / 600), (c, t, h))
    assert np.abs(change).max() < 1e-3


def test_left_alone_a_little_warmer_it_ignites_and_a_little_colder_it_dies_out():
    ends = []
    for start in (352.0, 348.0):
        state = (500.0, start, 1.0)
        for _ in range(240):
            state = transition(*state, 0.2, 1 / 600)
            if not 325 < state[1] < 400:
                break
        ends.append(state[1])
    assert ends[0] > 400
    assert ends[1] < 325


@settings(max_examples=50, deadline=None)
@given(
    state=st.tuples(st.floats(0, 1000), st.floats(290, 350), st.floats(0.05, 1.9)),
    flows=st.lists(st.tuples(st.floats(0, 0.4), st.floats(0, 2 / 600)), min_size=1, max_size=60),
)
def test_whatever_is_done_the_state_stays_physical(state, flows):
    for flow in flows * 4:
        state = transition(*state, *flow)
        c, t, h = state
        assert 0 <= c <= 1000
        assert 290 - 1e-9 <= t <= 350 + 1000 * 5e4 / 239e3 + 1e-9
        assert 0.05 <= h <= 1.9
        assert 0 < pressure(t, h) < 5e6


def test_the_pressure_is_that_of_the_gas_and_of_the_vapour():
    """At 383.8 K the solvent boils: its vapour alone has the pressure of the atmosphere."""
    gas = 1e5 * 383.8 / 350
    assert pressure(383.8, 1.0) == pytest.approx(101_325 + gas)
    # Half the room for the same gas.
    assert pressure(383.8, 1.5) == pytest.approx(101_325 + 2 * gas)
    assert pressure(350.0, 1.0) == pytest.approx(SET_POINT[2], rel=1e-3)


def test_the_jacket_takes_up_nothing_without_coolant_and_no_more_than_the_wall_lets_through():
    assert jacket(0.0, 1.0) == 0.0
    assert jacket(1e6, 1.0) == pytest.approx(1482.05, rel=1e-3)
    assert jacket(0.2, 1.0) < jacket(0.4, 1.0) < 0.4 * 4184
