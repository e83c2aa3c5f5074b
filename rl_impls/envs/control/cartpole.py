"""A pole on a cart, held up by pushing the cart left (0) or right (1).

Barto, Sutton & Anderson (1983), with the equations of motion that Florian (2007) corrected and
without friction, integrated by explicit Euler: Gymnasium's `CartPole-v1`, step for step. The state
is the observation: position [m], velocity [m/s], angle [rad] and angular velocity [rad/s].
"""

from __future__ import annotations

from math import inf, pi
from typing import Any, Final, NamedTuple

from rl_impls.envs.control.rules import Control, Rules, rules_for, sin_cos
from rl_impls.registry import time_limit
from rl_impls.splitmix import uniform

GRAVITY: Final = 9.8  # m/s²
POLE_MASS: Final = 0.1  # kg
TOTAL_MASS: Final = 1.1  # kg, of cart and pole
HALF_LENGTH: Final = 0.5  # m, of the pole
FORCE: Final = 10.0  # N
# The equations divide by the mass three times; doing so, a step takes a fifth longer.
PER_MASS: Final = 1.0 / TOTAL_MASS
POLE_PART: Final = POLE_MASS / TOTAL_MASS
LEVER: Final = POLE_MASS * HALF_LENGTH / TOTAL_MASS  # m
DT: Final = 0.02  # s
X_LIMIT: Final = 2.4  # m
THETA_LIMIT: Final = 12 * 2 * pi / 360
START: Final = 0.05  # every part of the first state lies within ± this


class CartPole(NamedTuple):
    """Rewards are 1 a step; those of Sutton and Barto are -1 for the fall and 0 before it."""

    sutton_barto_reward: bool = False


def cartpole(*, sutton_barto_reward: bool = False) -> Control:
    # Twice the limits, so that the last observation of an episode lies within.
    high = (2 * X_LIMIT, inf, 2 * THETA_LIMIT, inf)
    return Control(
        params=CartPole(sutton_barto_reward),
        state_size=4,
        obs_low=tuple(-bound for bound in high),
        obs_high=high,
        max_steps=time_limit("rl_impls/CartPole-v1"),
        n_actions=2,
    )


def _reset(params: Any, states: Any, row: int, chance: Any) -> None:
    for i in range(4):
        states[row, i] = uniform(chance, row, -START, START)


def _step(params: Any, states: Any, row: int, actions: Any) -> tuple[float, bool]:
    x_dot, theta, theta_dot = states[row, 1], states[row, 2], states[row, 3]
    force = FORCE if actions[row] == 1 else -FORCE
    sin_theta, cos_theta = sin_cos(theta)
    push = force * PER_MASS + LEVER * theta_dot * theta_dot * sin_theta
    theta_acc = (GRAVITY * sin_theta - cos_theta * push) / (
        HALF_LENGTH * (4.0 / 3.0 - POLE_PART * cos_theta * cos_theta)
    )
    x_acc = push - LEVER * theta_acc * cos_theta
    x = states[row, 0] + DT * x_dot
    theta += DT * theta_dot
    states[row, 0] = x
    states[row, 1] = x_dot + DT * x_acc
    states[row, 2] = theta
    states[row, 3] = theta_dot + DT * theta_acc
    terminated = abs(x) > X_LIMIT or abs(theta) > THETA_LIMIT
    if params.sutton_barto_reward:
        return (-1.0 if terminated else 0.0), terminated
    return 1.0, terminated


def _observe(params: Any, states: Any, row: int, obs: Any) -> None:
    for i in range(4):
        obs[row, i] = states[row, i]


rules_for(CartPole, Rules(_reset, _step, _observe))
