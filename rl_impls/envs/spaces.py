"""Gymnasium's spaces as rows of numbers: what an agent sees of an observation, and what it may do.

Numbers stay numbers, choices become a 1 among zeros, and parts of a Dict or Tuple stand one after
another. What would say little as such a row is refused, with what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rl_impls.errors import SpaceError

Space = spaces.Space[Any]

# Of a row for choices, all but one of which are 0: a table holds more states in less.
MOST_CHOICES: Final = 1000
BYTE: Final = 255


@dataclass(frozen=True, slots=True)
class FlatLayout:
    """What a batch holds of an observation: its shape and type, and how the numbers are found."""

    shape: tuple[int, ...]
    dtype: type[np.generic]
    numbers: Callable[[Any], Any]  # as an array, or a list of as many

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def layout_of(space: Space) -> FlatLayout:
    """Return how observations of a space are laid out, or refuse it with one sentence."""
    if is_image(space):
        if len(space.shape or ()) == 2:
            return FlatLayout(space.shape or (), np.uint8, np.asarray)
        raise SpaceError(
            f"{brief(space)} holds images in colour: wrap the environment in Gymnasium's "
            "GrayscaleObservation and ResizeObservation to (height, width), and choose pixel-dqn."
        )
    _check_parts(space, space)
    if isinstance(space, spaces.Box):
        return FlatLayout((int(np.prod(space.shape)),), np.float32, np.ravel)
    return FlatLayout((spaces.flatdim(space),), np.float32, partial(spaces.flatten, space))


def is_image(space: Space) -> bool:
    """Tell whether it holds bytes in two dimensions or three, from black to white."""
    return (
        isinstance(space, spaces.Box)
        and space.dtype == np.uint8
        and len(space.shape) in (2, 3)
        and bool((space.low == 0).all() and (space.high == BYTE).all())
    )


def _check_parts(space: Space, whole: Space) -> None:
    match space:
        case spaces.Dict() | spaces.Tuple():
            parts = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
            for part in parts:
                _check_parts(part, whole)
        case spaces.Box() if is_image(space):
            raise SpaceError(
                f"{brief(whole)} holds images beside other things: keep one of them, with "
                "Gymnasium's FilterObservation or a wrapper of your own."
            )
        case spaces.Discrete() | spaces.MultiDiscrete():
            n_choices = spaces.flatdim(space)
            if n_choices > MOST_CHOICES:
                raise SpaceError(
                    f"a batch cannot hold observations from {brief(space)}: of {n_choices:,} "
                    f"numbers nearly all would be 0, and {MOST_CHOICES:,} are the most. Choose a "
                    "learner of a table, or wrap the environment."
                )
        case spaces.Box() | spaces.MultiBinary():
            pass
        case _:
            raise SpaceError(
                f"a batch cannot hold observations from {brief(whole)}: choose an environment "
                "with a Box, Discrete, MultiDiscrete or MultiBinary space, or a Dict or Tuple of "
                "these, or wrap it."
            )


def brief(space: Space) -> str:
    """Return a space in a few words: bounds of many numbers would fill the screen."""
    if isinstance(space, spaces.Box):
        return f"a Box of shape {space.shape} and {space.dtype}"
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else f"a {type(space).__name__} of {len(text):,} letters"


@dataclass(frozen=True, slots=True)
class Actions:
    """What an environment takes: numbers from `first` on, or a Box between bounds."""

    n: int  # 0: continuous
    first: int
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    shape: tuple[int, ...]  # of one continuous action

    def taken(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return the actions of many environments as these take them."""
        if self.n:
            numbered: NDArray[Any] = actions + self.first
            return numbered
        # Some environments fail on, or run away with, what lies beyond their bounds.
        bounded: NDArray[Any] = np.clip(actions, self.low, self.high)
        return bounded.reshape(len(actions), *self.shape)


def actions_of(space: Space) -> Actions:
    """Return what an action is, or refuse the space with one sentence."""
    match space:
        case spaces.Discrete():
            none = np.zeros(0, np.float32)
            return Actions(int(space.n), int(space.start), none, none, ())
        case spaces.Box():
            low, high = (bound.ravel().astype(np.float32) for bound in (space.low, space.high))
            return Actions(0, 0, low, high, space.shape)
        case spaces.MultiDiscrete() | spaces.MultiBinary():
            raise SpaceError(
                f"a batch cannot hold actions from {brief(space)}: wrap the environment in "
                "Gymnasium's TransformAction, with a Discrete space that numbers what may be done."
            )
    raise SpaceError(
        f"a batch cannot hold actions from {brief(space)}: choose an environment whose action "
        "space is Discrete or a Box."
    )
