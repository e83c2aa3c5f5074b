"""A stirred tank in which A becomes B, gives off heat, and must be kept from running away.

The balances of mass, of A and of energy are those of a continuous stirred tank reactor with a
first-order exothermic reaction; kinetics, feed and heat of reaction are the example of Seborg,
Edgar & Mellichamp, *Process Dynamics and Control*, 2nd ed. (2004), chapter 2, in SI units. At its
set point the reactor is unstable: left alone it dies out or ignites.

    V dC/dt = q (Cf - C) - V k C                                k = K0 exp(-E / (R T))
    V dT/dt = q (Tf - T) + V k C (-dH) / (rho cp) - Q / (rho cp)
    A dh/dt = q - q_out                                         V = A h

The coolant runs through a jacket and takes up Q = w c (1 - exp(-U(h) / (w c))) (T - Tc), as a
stream that warms up along a wall at T does; the wetted wall U(h) grows with the level. The gas
above the liquid is closed in: p = n R T / (V_tank - V) + p_vap(T), a blanket of ideal gas and the
solvent's vapour by Clausius and Clapeyron.

A step is half a second, in five of linearly implicit Euler: what decays is taken at the end of
each, which is stable for any rate (k is 1 /s at 420 K and 200 /s at 560 K), and keeps
0 <= C <= Cf and Tc <= T <= Tf + Cf (-dH) / (rho cp).
"""

from __future__ import annotations

from math import exp
from typing import Final

from rl_impls.jit import inlined

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
    """kg/s of an action in [-1, 1]."""
    return 0.5 * MAX_COOLANT * (1.0 + action)


@inlined
def outlet_flow(action: float) -> float:
    """m³/s of an action in [-1, 1]."""
    return 0.5 * MAX_OUTLET * (1.0 + action)


@inlined
def jacket(flow: float, level: float) -> float:
    """W/K between the liquid and the coolant as it comes in."""
    capacity = flow * COOLANT_HEAT
    if capacity <= 0.0:
        return 0.0
    return capacity * (1.0 - exp(-WALL * level / capacity))


@inlined
def pressure(temperature: float, level: float) -> float:
    """Pa above the liquid."""
    gas = GAS_AMOUNT * GAS_CONSTANT * temperature / (AREA * (TANK_HEIGHT - level))
    warmer = 1.0 / BOILING_TEMPERATURE - 1.0 / temperature
    return gas + BOILING_PRESSURE * exp(VAPORIZATION_K * warmer)


@inlined
def transition(
    concentration: float, temperature: float, level: float, coolant: float, outlet: float
) -> tuple[float, float, float]:
    """(mol/m³, K, m) half a second later, for kg/s of coolant and m³/s through the outlet."""
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
