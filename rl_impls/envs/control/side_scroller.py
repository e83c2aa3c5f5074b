"""A runner on ground that scrolls by: jump (1) over blocks, and stay down (0) below bars.

Seen are frames of 84 x 84 grey bytes. A jump takes its whole course, whatever is done meanwhile,
and one frame does not tell whether the runner rises or falls. Passing an obstacle earns 1; running
into one costs 1 and ends the episode.

A course is a number, drawn when an episode begins: what obstacle n is, and where, follows from
both. All lengths are pixels, all times steps, and all of them whole numbers.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from rl_impls.envs.control.rules import Control, Rules, rules_for
from rl_impls.jit import inlined
from rl_impls.registry import time_limit
from rl_impls.splitmix import GAMMA, mixed, uniform

SIDE: Final = 84  # of a frame
GROUND: Final = 72  # the first row of it
SPEED: Final = 3
RUNNER_X: Final = 12  # its left edge
RUNNER_WIDTH: Final = 6
RUNNER_HEIGHT: Final = 10
JUMP: Final = 6  # its first velocity, less by 1 each step: 21 high, and down after 13 steps

# Obstacle n of the course begins at n * SPACING and up to 15 further: a jump over one ends before
# the next one comes.
SPACING: Final = 60
BLOCK_HEIGHT: Final = 8  # and up to 3 more
BAR_BELOW: Final = 13  # how high it hangs; and up to 3 more
WIDTH: Final = 4  # of both; and up to 3 more

HILL_WIDTH: Final = 64  # one stands beside the other
HILL_FOOT: Final = 4  # rows that have this width
HILL_TOP: Final = 53  # no hill reaches a row above this
STRIPES: Final = 8  # from one to the next
SKY, HILL, SOIL, STRIPE, OBSTACLE, RUNNER = (np.uint8(grey) for grey in (0, 50, 100, 130, 190, 255))

COURSE, DISTANCE, HEIGHT, VELOCITY = range(4)  # of the state
_COURSES: Final = 2.0**53  # what a float64 holds exactly
_BIT, _BITS_2, _BITS_4 = (np.uint64(2**n - 1) for n in (1, 2, 4))
_S1, _S3, _S5, _S58 = (np.uint64(shift) for shift in (1, 3, 5, 58))


class SideScroller(NamedTuple):
    speed: int = SPEED  # of the ground


def side_scroller() -> Control:
    return Control(
        params=SideScroller(),
        state_size=4,
        frame=(SIDE, SIDE),
        max_steps=time_limit("rl_impls/SideScroller-v0"),
        n_actions=2,
    )


@inlined
def obstacle(course: Any, n: int, distance: int) -> tuple[Any, Any, Any, Any]:
    """Return where an obstacle is on the screen: its left edge and the first column right of it,
    the height above the ground where it begins, and that where it ends."""
    bits = mixed(np.uint64(course) + np.uint64(n) * GAMMA)
    left = n * SPACING + np.int64((bits >> _S5) & _BITS_4) - distance
    right = left + WIDTH + np.int64((bits >> _S1) & _BITS_2)
    size = np.int64((bits >> _S3) & _BITS_2)
    if bits & _BIT:
        return left, right, BAR_BELOW + size, GROUND
    return left, right, 0, BLOCK_HEIGHT + size


def _reset(params: Any, states: Any, row: int, chance: Any) -> None:
    states[row, COURSE] = np.floor(uniform(chance, row, 0.0, _COURSES))
    states[row, DISTANCE] = 0.0
    states[row, HEIGHT] = 0.0
    states[row, VELOCITY] = 0.0


def _step(params: Any, states: Any, row: int, actions: Any) -> tuple[float, bool]:
    height, velocity = int(states[row, HEIGHT]), int(states[row, VELOCITY])
    if height == 0:
        velocity = JUMP if actions[row] == 1 else 0
    height = max(0, height + velocity)
    distance = int(states[row, DISTANCE]) + params.speed
    states[row, HEIGHT] = height
    states[row, VELOCITY] = velocity - 1
    states[row, DISTANCE] = distance
    nearest = distance // SPACING
    r_t = 0.0
    for n in range(max(1, nearest), nearest + 2):
        left, right, low, high = obstacle(states[row, COURSE], n, distance)
        if left < RUNNER_X + RUNNER_WIDTH and right > RUNNER_X:
            if low < height + RUNNER_HEIGHT and high > height:
                return -1.0, True
        elif right <= RUNNER_X < right + params.speed:
            r_t += 1.0
    return r_t, False


def _observe(params: Any, states: Any, row: int, obs: Any) -> None:
    frame = obs[row]
    course, distance = states[row, COURSE], int(states[row, DISTANCE])
    # Hills are far away, and go by at half the speed.
    _draw_world(frame, np.int64(mixed(np.uint64(course)) >> _S58) + distance // 2, distance)
    nearest = distance // SPACING
    for n in range(max(1, nearest), nearest + 3):
        left, right, low, high = obstacle(course, n, distance)
        _fill(frame, GROUND - high, GROUND - low, left, right, OBSTACLE)
    feet = GROUND - int(states[row, HEIGHT])
    _fill(frame, feet - RUNNER_HEIGHT, feet, RUNNER_X, RUNNER_X + RUNNER_WIDTH, RUNNER)


@inlined
def _draw_world(frame: Any, hills: Any, distance: int) -> None:
    _fill(frame, 0, GROUND, 0, SIDE, SKY)
    for y in range(HILL_TOP, GROUND):
        # Each row further up, a hill is narrower by two on both sides.
        inset = 2 * max(0, GROUND - HILL_FOOT - y)
        for begin in range(-(hills % HILL_WIDTH), SIDE, HILL_WIDTH):
            _fill(frame, y, y + 1, begin + inset, begin + HILL_WIDTH - inset, HILL)
    _fill(frame, GROUND, SIDE, 0, SIDE, SOIL)
    for y in range(GROUND, SIDE):
        for x in range(-distance % STRIPES, SIDE, STRIPES):
            frame[y, x] = STRIPE


@inlined
def _fill(frame: Any, top: int, bottom: int, left: int, right: int, grey: Any) -> None:
    """Fill as much of a rectangle as the frame is wide for."""
    left, right = max(0, left), max(0, min(SIDE, right))
    for y in range(top, bottom):
        frame[y, left:right] = grey


rules_for(SideScroller, Rules(_reset, _step, _observe))
