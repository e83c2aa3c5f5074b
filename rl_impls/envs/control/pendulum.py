"""A pendulum to be swung up and held there by a torque that is too weak to lift it at once.

Gymnasium's `Pendulum-v1`, step for step. The state is the angle [rad], 0 at the top and never
wrapped, and the angular velocity [rad/s]; cosine and sine of the angle are observed in its place.
"""

from __future__ import annotations

from math import floor, pi
from typing import Any, Final, NamedTuple

import numpy as np

from rl_impls.envs.control.rules import Control, Rules, rules_for, sin_cos
from rl_impls.registry import time_limit
from rl_impls.splitmix import uniform

DT: Final = 0.05  # s
MAX_SPEED: Final = 8.0  # rad/s
MAX_TORQUE: Final = 2.0  # N m
# The rod has a length of 1 m and a mass of 1 kg, so that a torque u accelerates it by 3 u. In
# float32, as Gymnasium computes the parts that hold nothing but the action: what one rounding
# changes, the pendulum makes visible within an episode.
TORQUE_GAIN: Final = np.float32(3.0)
TORQUE_COST: Final = np.float32(0.001)
_TORQUE_32: Final = np.float32(MAX_TORQUE)
START_ANGLE: Final = pi
START_SPEED: Final = 1.0
GRAVITY: Final = 10.0  # m/s²


class Pendulum(NamedTuple):
    gravity: float = GRAVITY


def pendulum(*, g: float = GRAVITY) -> Control:
    return Control(
        params=Pendulum(float(g)),
        state_size=2,
        obs_low=(-1.0, -1.0, -MAX_SPEED),
        obs_high=(1.0, 1.0, MAX_SPEED),
        max_steps=time_limit("rl_impls/Pendulum-v1"),
        act_low=(-MAX_TORQUE,),
        act_high=(MAX_TORQUE,),
    )


def _reset(params: Any, states: Any, row: int, chance: Any) -> None:
    states[row, 0] = uniform(chance, row, -START_ANGLE, START_ANGLE)
    states[row, 1] = uniform(chance, row, -START_SPEED, START_SPEED)


def _step(params: Any, states: Any, row: int, actions: Any) -> tuple[float, bool]:
    theta, speed = states[row, 0], states[row, 1]
    torque = min(max(actions[row, 0], -_TORQUE_32), _TORQUE_32)
    # The angle from the top, in [-pi, pi).
    away = theta - 2.0 * pi * floor((theta + pi) / (2.0 * pi))
    cost = away * away + 0.1 * speed * speed + np.float64(TORQUE_COST * (torque * torque))
    sine, _cosine = sin_cos(theta)
    push = 1.5 * params.gravity * sine + np.float64(TORQUE_GAIN * torque)
    speed = min(max(speed + push * DT, -MAX_SPEED), MAX_SPEED)
    states[row, 0] = theta + speed * DT
    states[row, 1] = speed
    return -cost, False


def _observe(params: Any, states: Any, row: int, obs: Any) -> None:
    obs[row, 1], obs[row, 0] = sin_cos(states[row, 0])
    obs[row, 2] = states[row, 1]


rules_for(Pendulum, Rules(_reset, _step, _observe))
