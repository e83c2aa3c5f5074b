"""The stirred tank beside its differential equations, written down once more."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp  # type: ignore[import-untyped]

import rl_impls.envs  # noqa: F401
from rl_impls.envs.control import reactor as rules
from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.reactor import (
    CRITICAL,
    SET_POINT,
    jacket,
    limits_passed,
    n_soft,
    pressure,
    reactor,
    transition,
)
from rl_impls.envs.control.rules import reset_row, step_row
from rl_impls.splitmix import streams

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


# ChemicalReactor-v0: limits, rewards, and what switching the limits off changes.


SHUT = np.array([-1, -1], np.float32)


def proportional(obs):
    """Cool what is too warm, let out what is too much."""
    return np.stack([0.2 * (obs[:, 1] - 350), 2 * (obs[:, 3] - 1)], axis=1).astype(np.float32)


def at_random(seed):
    rng = np.random.default_rng(seed)
    return lambda obs: rng.uniform(-1, 1, (len(obs), 2)).astype(np.float32)


def first_episodes(policy, n_envs=100):
    """The return and the length of every row's first episode."""
    batch = CompiledBatch(reactor(), n_envs, seed=1)
    returns, lengths = np.zeros(n_envs), np.zeros(n_envs)
    running = np.ones(n_envs, np.bool_)
    for _ in range(300):
        step = batch.step(policy(batch.obs))
        returns += step.r_t * running
        lengths += running
        running &= ~(step.terminated | step.truncated)
    return returns, lengths


def test_a_proportional_controller_does_clearly_better_than_chance():
    returns, lengths = first_episodes(proportional)
    assert lengths.min() == 300
    assert returns.min() > 290  # of 300
    returns, lengths = first_episodes(at_random(0))
    assert returns.mean() < 100
    assert lengths.min() > 10
    assert np.median(lengths) > 40


@pytest.mark.parametrize("arguments", [{}, {"scaled": True}, {"constraints": False}])
def test_gymnasium_finds_nothing_to_complain_about(arguments):
    check_env(gymnasium.make("ChemicalReactor-v0", **arguments).unwrapped)


def env_at(concentration=500.0, temperature=350.0, level=1.0, **arguments):
    env: Any = gymnasium.make("ChemicalReactor-v0", **arguments).unwrapped
    env.reset(seed=0)
    env.states[0, :4] = concentration, temperature, pressure(temperature, level), level
    return env


@pytest.mark.parametrize(
    ("place", "soft", "critical"),
    [
        ({}, (), ()),
        ({"temperature": 375.0, "concentration": 100.0}, ("temperature",), ()),
        (
            {"temperature": 425.0, "concentration": 0.0, "level": 0.6},
            ("temperature", "pressure"),
            ("temperature",),
        ),
        ({"level": 1.55}, ("pressure", "level"), ()),
        ({"level": 1.85}, ("pressure", "level"), ("pressure", "level")),
        ({"level": 0.4}, ("level",), ()),
        ({"level": 0.1}, ("level",), ("level",)),
    ],
)
def test_a_passed_limit_costs_and_a_critical_one_ends_the_episode(place, soft, critical):
    checked, unchecked = env_at(**place), env_at(**place, constraints=False)
    idle = np.zeros(2, np.float32)
    obs, reward, terminated, truncated, info = checked.step(idle)
    assert (info["violations"], info["critical"]) == (soft, critical)
    assert info["n_violations"] == len(soft)
    assert (terminated, truncated) == (bool(critical), False)
    same, plain, goes_on, _, info = unchecked.step(idle)
    np.testing.assert_array_equal(obs, same)
    assert reward == pytest.approx(plain - 0.5 * len(soft) - (100 if critical else 0))
    assert (goes_on, info["violations"], info["n_violations"]) == (False, (), 0)


def test_limits_are_in_kelvin_pascal_and_metres():
    assert limits_passed(370.0, 2.5e5, 1.5) == limits_passed(350.0, 1.4e5, 0.5) == 0
    assert limits_passed(370.1, 1.4e5, 1.0) == 1
    assert limits_passed(350.0, 2.6e5, 1.0) == 2
    assert [limits_passed(350.0, 1.4e5, level) for level in (0.4, 1.6)] == [4, 4]
    critical = limits_passed(421.0, 4.1e5, 1.81)
    assert (critical, critical >= CRITICAL, n_soft(critical)) == (63, True, 3)


@pytest.mark.parametrize(("constraints", "looks"), [(True, 50), (False, 0)])
def test_limits_are_looked_at_once_a_step(monkeypatch, constraints, looks):
    seen = []

    def counted(*values):
        seen.append(values)
        return limits_passed(*values)

    monkeypatch.setattr(rules, "limits_passed", counted)
    params = reactor(constraints=constraints).params
    states, chance = np.zeros((1, 6)), streams(0, 1)
    reset_row(params, states, 0, chance)
    for _ in range(50):
        step_row(params, states, 0, proportional(states))
    assert len(seen) == looks
    if looks:  # at the state that the step led to, in its units
        assert seen[-1] == tuple(states[0, [1, 2, 3]])


def test_the_same_episodes_with_and_without_limits_until_one_is_critical():
    checked, free = (CompiledBatch(reactor(constraints=on), 64, seed=2) for on in (True, False))
    policy, running = at_random(3), np.ones(64, np.bool_)
    violations = 0
    for _ in range(299):
        actions = policy(checked.obs)
        ours, theirs = checked.step(actions), free.step(actions)
        np.testing.assert_array_equal(ours.obs_t[running], theirs.obs_t[running])
        assert not theirs.terminated.any()
        calm = running & ((ours.obs_t[:, 1] < 370) & (ours.obs_t[:, 2] < 2.5e5))
        calm &= (ours.obs_t[:, 3] > 0.5) & (ours.obs_t[:, 3] < 1.5)
        np.testing.assert_array_equal(ours.r_t[calm], theirs.r_t[calm])
        violations += (running & ~calm).sum()
        running &= ~ours.terminated
    assert violations > 0
    assert 0 < running.sum() < 64


def test_scaled_observations_tell_the_same():
    plain, scaled = (CompiledBatch(reactor(scaled=on), 8, seed=2) for on in (False, True))
    for _ in range(40):
        actions = proportional(plain.obs)
        a, b = plain.step(actions).obs_t, scaled.step(actions).obs_t
        expected = (a - np.array(rules.SET_POINT)) / np.array(rules.SCALE)
        np.testing.assert_allclose(b, expected, rtol=0, atol=1e-5)
    assert np.abs(scaled.obs).max() < 3


def test_an_episode_is_truncated_after_300_steps():
    env = gymnasium.make("ChemicalReactor-v0")
    obs, _ = env.reset(seed=0)
    for n in range(1, 301):
        obs, _, terminated, truncated, _ = env.step(proportional(obs[None])[0])
        assert (terminated, truncated) == (False, n == 300)


def test_after_a_critical_step_the_episode_has_to_be_reset():
    env = env_at(level=1.85)
    assert env.step(SHUT)[2]
    with pytest.raises(ValueError, match="call reset"):
        env.step(SHUT)


@pytest.mark.parametrize("action", [[0.0], [0.0, np.nan], [[0.0, 0.0]]])
def test_an_action_is_two_finite_numbers(action):
    with pytest.raises(ValueError, match="made of 2 finite numbers, not"):
        env_at().step(np.array(action))
