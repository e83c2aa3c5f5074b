"""What the commands' arguments may be; each message says what is wrong and what to do."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from typing import Final

from rl_impls.errors import SettingError
from rl_impls.runtimes.runtime import MakeEnv

AGENTS: Final = ("list", "numpy", "optimal", "batch", "memory", "sparse", "gpu", "compiled")
RUNTIMES: Final = ("serial", "parallel")
# Greedy play must end even where the rules alone would let a bad policy walk in circles.
LONGEST_EPISODE: Final = 1_000


def agent(text: str) -> str:
    return _one_of(text, AGENTS, "agent")


def runtime(text: str) -> str:
    return _one_of(text, RUNTIMES, "runtime")


def positive(text: str) -> int:
    """Thousands may be set apart, as in 1_000_000."""
    return _at_least(text, 1)


def not_negative(text: str) -> int:
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"{text!r} is no whole number from {least} on.")
    return number


def _one_of(text: str, names: Iterable[str], what: str) -> str:
    if text not in names:
        raise ArgumentTypeError(f"there is no {what} {text!r}: choose {_or(names)}.")
    return text


def _or(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"


def environment(name: str) -> MakeEnv:
    """What makes the environment of that name; its episodes end."""
    import gymnasium

    from rl_impls.envs.tabular import make_tabular

    if name not in gymnasium.registry:
        close = get_close_matches(name, gymnasium.registry, n=1, cutoff=0.5)
        meant = f"did you mean {close[0]}?" if close else "name one that gymnasium.make knows."
        raise SettingError(f"there is no environment {name!r}: {meant}")
    if name.startswith(("TicTacToe-", "TwoArmedBandit-")):
        return partial(make_tabular, name)
    if gymnasium.spec(name).max_episode_steps is not None:
        return partial(make_tabular, name)
    return partial(make_tabular, name, max_episode_steps=LONGEST_EPISODE)
