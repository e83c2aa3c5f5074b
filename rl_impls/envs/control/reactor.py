"""A chemical reactor to be held at its set point: the physics of a stirred tank, and the
environment."""

from __future__ import annotations

from math import exp
from typing import Any, Final, NamedTuple

import numpy as np

from rl_impls.envs.control.rules import Control, Rules, rules_for
from rl_impls.jit import inlined
from rl_impls.registry import time_limit
from rl_impls.splitmix import uniform

# A stirred tank in which A becomes B, gives off heat, and must be kept from running away.
#
# The balances of mass, of A and of energy are those of a continuous stirred tank reactor with a
# first-order exothermic reaction; kinetics, feed and heat of reaction are the example of Seborg,
# Edgar & Mellichamp, *Process Dynamics and Control*, 2nd ed. (2004), chapter 2, in SI units. At its
# set point the reactor is unstable: left alone it dies out or ignites.
#
#     V dC/dt = q (Cf - C) - V k C                                k = K0 exp(-E / (R T))
#     V dT/dt = q (Tf - T) + V k C (-dH) / (rho cp) - Q / (rho cp)
#     A dh/dt = q - q_out                                         V = A h
#
# The coolant runs through a jacket and takes up Q = w c (1 - exp(-U(h) / (w c))) (T - Tc), as a
# stream that warms up along a wall at T does; the wetted wall U(h) grows with the level. The gas
# above the liquid is closed in: p = n R T / (V_tank - V) + p_vap(T), a blanket of ideal gas and the
# solvent's vapour by Clausius and Clapeyron.
#
# A step is half a second, in five of linearly implicit Euler: what decays is taken at the end of
# each, which is stable for any rate (k is 1 /s at 420 K and 200 /s at 560 K), and keeps
# 0 <= C <= Cf and Tc <= T <= Tf + Cf (-dH) / (rho cp).

GAS_CONSTANT: Final = 8.314462618  # J/(mol K)

# The reaction.
RATE: Final = 1.2e9  # 1/s, K0
ACTIVATION_K: Final = 8750.0  # K, E/R
REACTION_HEAT: Final = 5.0e4  # J/mol, given off
VOLUME_HEAT: Final = 1000.0 * 239.0  # J/(m³ K), rho cp
HEATING: Final = REACTION_HEAT / VOLUME_HEAT  # K m³/mol

# The tank and its feed.
AREA: Final = 0.1  # m²
TANK_HEIGHT: Final = 2.0  # m
OVERFLOW: Final = 1.9  # m: no higher, the feed runs over
SUCTION: Final = 0.05  # m: no lower, the outlet pump draws air
FEED: Final = 1.0 / 600.0  # m³/s
FEED_CONCENTRATION: Final = 1000.0  # mol/m³
FEED_TEMPERATURE: Final = 350.0  # K

# The jacket.
COOLANT_TEMPERATURE: Final = 290.0  # K
COOLANT_HEAT: Final = 4184.0  # J/(kg K)
# At 1 m, and such that half the coolant's range balances the reaction at the set point.
WALL: Final = 1482.05  # W/(K m)

# The gas: 100 kPa at the set point; and a solvent that boils as toluene does.
GAS_AMOUNT: Final = 1.0e5 * 0.1 / (GAS_CONSTANT * 350.0)  # mol
BOILING_PRESSURE: Final = 101_325.0  # Pa
BOILING_TEMPERATURE: Final = 383.8  # K
VAPORIZATION_K: Final = 33_200.0 / GAS_CONSTANT  # K, molar heat of vaporisation over R

# What the actions -1 and 1 stand for.
MAX_COOLANT: Final = 0.4  # kg/s, from 0
MAX_OUTLET: Final = 2.0 * FEED  # m³/s, from 0

DT: Final = 0.1  # s
N_SUBSTEPS: Final = 5


@inlined
def coolant_flow(action: float) -> float:
    """Return the coolant's flow in kg/s for an action in [-1, 1]."""
    return 0.5 * MAX_COOLANT * (1.0 + action)


@inlined
def outlet_flow(action: float) -> float:
    """Return the flow through the outlet in m³/s for an action in [-1, 1]."""
    return 0.5 * MAX_OUTLET * (1.0 + action)


@inlined
def jacket(flow: float, level: float) -> float:
    """Return the W/K between the liquid and the coolant as it comes in."""
    capacity = flow * COOLANT_HEAT
    if capacity <= 0.0:
        return 0.0
    return capacity * (1.0 - exp(-WALL * level / capacity))


@inlined
def pressure(temperature: float, level: float) -> float:
    """Return the pressure above the liquid in Pa."""
    gas = GAS_AMOUNT * GAS_CONSTANT * temperature / (AREA * (TANK_HEIGHT - level))
    warmer = 1.0 / BOILING_TEMPERATURE - 1.0 / temperature
    return gas + BOILING_PRESSURE * exp(VAPORIZATION_K * warmer)


@inlined
def transition(
    concentration: float, temperature: float, level: float, coolant: float, outlet: float
) -> tuple[float, float, float]:
    """Return (mol/m³, K, m) half a second later, for kg/s of coolant and m³/s through the
    outlet."""
    # In half a second the level moves by 8 mm at most, and the wetted wall with it.
    cooling = jacket(coolant, level) / (VOLUME_HEAT * AREA)
    rise = DT * (FEED - outlet) / AREA
    for _ in range(N_SUBSTEPS):
        fresh = DT * FEED / (AREA * level)
        lost = DT * cooling / level
        reacted = DT * RATE * exp(-ACTIVATION_K / temperature)
        concentration = (concentration + fresh * FEED_CONCENTRATION) / (1.0 + fresh + reacted)
        gained = fresh * FEED_TEMPERATURE + lost * COOLANT_TEMPERATURE
        temperature = (temperature + gained + HEATING * reacted * concentration) / (
            1.0 + fresh + lost
        )
        level = min(max(level + rise, SUCTION), OVERFLOW)
    return concentration, temperature, level


# `ChemicalReactor-v0`: hold a stirred tank at its set point, within limits.
#
# Observed are concentration [mol/m³], temperature [K], pressure [Pa] and level [m]; `scaled`, each
# as its distance from the set point in parts of its `SCALE`. Actions are the flows of the coolant
# and of the outlet, -1 shut and 1 open. The physics is that above.
#
# A step is rewarded for being near the set point (1 at it, 0 far away) less the effort. Each soft
# limit that is passed costs `SOFT_PENALTY` a step; a critical one costs `CRITICAL_PENALTY` and ends
# the episode. Limits are looked at once a step, after it; without constraints not at all.


# Columns of the state: first what is observed.
CONCENTRATION: Final = 0  # mol/m³
TEMPERATURE: Final = 1  # K
PRESSURE: Final = 2  # Pa
LEVEL: Final = 3  # m
PASSED: Final = 4  # the limits passed in the last step, as bits
N_VIOLATIONS: Final = 5  # soft limits passed in this episode, one for each step and limit
N_OBSERVED: Final = 4
N_COLUMNS: Final = 6

SET_CONCENTRATION: Final = 500.0  # mol/m³
SET_TEMPERATURE: Final = 350.0  # K
SET_POINT: Final = (SET_CONCENTRATION, SET_TEMPERATURE, 1.371e5, 1.0)
SCALE: Final = (500.0, 50.0, 1.0e5, 1.0)
LOWEST: Final = (0.0, 250.0, 0.0, 0.0)
HIGHEST: Final = (FEED_CONCENTRATION, 600.0, 5.0e6, TANK_HEIGHT)
# The first state of an episode lies within ± this around the set point.
START: Final = (25.0, 3.0, 0.1)  # mol/m³, K, m

SOFT_TEMPERATURE: Final = 370.0  # K
SOFT_PRESSURE: Final = 2.5e5  # Pa
SOFT_LOW, SOFT_HIGH = 0.5, 1.5  # m
CRITICAL_TEMPERATURE: Final = 420.0  # K
CRITICAL_PRESSURE: Final = 4.0e5  # Pa
CRITICAL_LOW, CRITICAL_HIGH = 0.2, 1.8  # m

# Bit i is the soft limit, bit 3 + i the critical one, of:
LIMITED: Final = ("temperature", "pressure", "level")
CRITICAL: Final = 1 << len(LIMITED)  # with this or a higher bit the episode ends

SOFT_PENALTY: Final = 0.5
CRITICAL_PENALTY: Final = 100.0
# How far from the set point nothing is earned, and what a whole action costs.
CONCENTRATION_REACH: Final = 250.0  # mol/m³
TEMPERATURE_REACH: Final = 20.0  # K
EFFORT: Final = 0.01


class Reactor(NamedTuple):
    constraints: bool = True
    scaled: bool = False


def reactor(*, constraints: bool = True, scaled: bool = False) -> Control:
    low, high = LOWEST, HIGHEST
    if scaled:
        low, high = (_scaled(bound) for bound in (LOWEST, HIGHEST))
    return Control(
        params=Reactor(bool(constraints), bool(scaled)),
        state_size=N_COLUMNS,
        obs_low=low,
        obs_high=high,
        max_steps=time_limit("ChemicalReactor-v0"),
        act_low=(-1.0, -1.0),
        act_high=(1.0, 1.0),
    )


def _scaled(values: tuple[float, ...]) -> tuple[float, float, float, float]:
    c, t, p, h = (
        (value - at) / scale for value, at, scale in zip(values, SET_POINT, SCALE, strict=True)
    )
    return c, t, p, h


@inlined
def limits_passed(temperature: float, pascals: float, level: float) -> int:
    """Return the limits that K, Pa and m are beyond, as bits."""
    passed = 0
    if temperature > SOFT_TEMPERATURE:
        passed |= 1 if temperature <= CRITICAL_TEMPERATURE else 9
    if pascals > SOFT_PRESSURE:
        passed |= 2 if pascals <= CRITICAL_PRESSURE else 18
    if level < SOFT_LOW or level > SOFT_HIGH:
        passed |= 4 if CRITICAL_LOW <= level <= CRITICAL_HIGH else 36
    return passed


@inlined
def n_soft(passed: int) -> int:
    """Count the soft limits that are passed."""
    return (passed & 1) + (passed >> 1 & 1) + (passed >> 2 & 1)


@inlined
def reward(concentration: float, temperature: float, coolant: float, outlet: float) -> float:
    """Return the reward of a state and the two actions that led to it, without penalties."""
    d_c = (concentration - SET_CONCENTRATION) / CONCENTRATION_REACH
    d_t = (temperature - SET_TEMPERATURE) / TEMPERATURE_REACH
    effort = EFFORT * (coolant * coolant + outlet * outlet)
    return max(0.0, 1.0 - d_c * d_c - d_t * d_t) - effort


def _reset(params: Any, states: Any, row: int, chance: Any) -> None:
    d_c, d_t, d_h = START
    states[row, CONCENTRATION] = SET_CONCENTRATION + uniform(chance, row, -d_c, d_c)
    states[row, TEMPERATURE] = SET_TEMPERATURE + uniform(chance, row, -d_t, d_t)
    states[row, LEVEL] = 1.0 + uniform(chance, row, -d_h, d_h)
    states[row, PRESSURE] = pressure(states[row, TEMPERATURE], states[row, LEVEL])
    states[row, PASSED] = 0.0
    states[row, N_VIOLATIONS] = 0.0


def _step(params: Any, states: Any, row: int, actions: Any) -> tuple[float, bool]:
    coolant = min(max(np.float64(actions[row, 0]), -1.0), 1.0)
    outlet = min(max(np.float64(actions[row, 1]), -1.0), 1.0)
    c, t, h = transition(
        states[row, CONCENTRATION],
        states[row, TEMPERATURE],
        states[row, LEVEL],
        coolant_flow(coolant),
        outlet_flow(outlet),
    )
    pascals = pressure(t, h)
    states[row, CONCENTRATION] = c
    states[row, TEMPERATURE] = t
    states[row, PRESSURE] = pascals
    states[row, LEVEL] = h
    r_t = reward(c, t, coolant, outlet)
    if not params.constraints:
        return r_t, False
    passed = limits_passed(t, pascals, h)
    states[row, PASSED] = passed
    if passed == 0:
        return r_t, False
    violations = n_soft(passed)
    states[row, N_VIOLATIONS] += violations
    r_t -= SOFT_PENALTY * violations
    if passed >= CRITICAL:
        return r_t - CRITICAL_PENALTY, True
    return r_t, False


def _observe(params: Any, states: Any, row: int, obs: Any) -> None:
    for i in range(N_OBSERVED):
        value = states[row, i]
        obs[row, i] = (value - SET_POINT[i]) / SCALE[i] if params.scaled else value


rules_for(Reactor, Rules(_reset, _step, _observe))
