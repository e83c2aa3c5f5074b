"""The arguments of the commands; each message says what is wrong and what to do."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from os import W_OK, access
from pathlib import Path
from typing import Final

from rl_impls import registry
from rl_impls.errors import ImplsError, SettingError
from rl_impls.runtimes.run import MakeEnv

# Greedy play must end even where the rules alone would let a bad policy walk in circles.
LONGEST_EPISODE: Final = 1_000
# Processes count their steps in 64 bits, with a sign.
MOST: Final = 2**63 - 1


def agent(text: str) -> str:
    return _one_of(text, (*registry.LEARNERS, *registry.AGENTS), "agent")


def tabular_agent(text: str) -> str:
    return _one_of(text, registry.LEARNERS, "tabular agent")


def runtime(text: str) -> str:
    return _one_of(text, registry.RUNTIMES, "runtime")


def compression(text: str) -> str:
    return _one_of(text, registry.COMPRESSIONS, "compression")


def backend(text: str) -> str:
    return _one_of(text, registry.BACKENDS, "back end")


def preset(text: str) -> str:
    return _one_of(text, registry.ACTOR_LEARNER_PRESETS, "preset")


def check_runtime(agent: str, name: str) -> None:
    if name not in (known := registry.runtimes_of(agent)):
        raise SettingError(
            f"{agent} trains with --runtime {' or '.join(known)}, and not with {name}: "
            "choose another runtime or another agent."
        )


def check_backend(agent: str, name: str) -> None:
    if name not in (known := registry.backends_of(agent)):
        what = f"learns with --backend {' or '.join(known)}" if known else "learns a table"
        raise SettingError(
            f"{agent} {what}, and not with {name}: choose another agent, or leave --backend out."
        )


def positive(text: str) -> int:
    """Read a whole number from 1 on; thousands may be set apart, as in 1_000_000."""
    return _at_least(text, 1)


def not_negative(text: str) -> int:
    return _at_least(text, 0)


def share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no share: give a number from 0 on, as 0.25.")
    return number


def _at_least(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"{text!r} is no whole number from {least} on.")
    if number > MOST:
        raise ArgumentTypeError(f"{text!r} is too large a number: {MOST} is the largest.")
    return number


def _one_of(text: str, names: Iterable[str], what: str) -> str:
    if text not in names:
        raise ArgumentTypeError(f"there is no {what} {text!r}: choose {_or(names)}.")
    return text


def _or(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def check_place(path: Path) -> None:
    """Refuse a place that cannot be written, before the work whose result it is for."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise SettingError(f"the folder of {path} does not exist: make it first.")
    if path.is_dir():
        raise SettingError(f"{path} is a folder: name a file.")
    if not access(path if path.exists() else folder, W_OK):
        raise SettingError(f"{path} may not be written: choose another place.")


def environment(name: str) -> MakeEnv:
    """Return what makes the environment of that name for a table; its episodes end."""
    from rl_impls.envs.tabular import make_tabular

    limit = _episode_limit(name)
    make_env = partial(make_tabular, name, **limit)
    _check_makes(name, partial(make_env, seed=None))
    return make_env


def batch_arguments(name: str) -> dict[str, int]:
    """Return the arguments with which `make_batch` makes that environment; its episodes end."""
    from rl_impls.envs.control.make import make_batch

    limit = _episode_limit(name)
    _check_makes(name, partial(make_batch, name, 1, **limit))
    return limit


def _episode_limit(name: str) -> dict[str, int]:
    """Return the limit to be told to `gymnasium.make`: none where episodes end by themselves."""
    import gymnasium

    import rl_impls.envs  # noqa: F401  makes ours known

    if name not in gymnasium.registry:
        close = get_close_matches(name, gymnasium.registry, n=1, cutoff=0.6)
        meant = f"did you mean {close[0]}?" if close else "name one that gymnasium.make knows."
        raise SettingError(f"there is no environment {name!r}: {meant}")
    ends = name in registry.ENVIRONMENTS or gymnasium.spec(name).max_episode_steps is not None
    return {} if ends else {"max_episode_steps": LONGEST_EPISODE}


def longest_episode(name: str) -> int:
    """Return how many steps an episode can have, the way these commands make the environment."""
    import gymnasium

    if name in registry.ENVIRONMENTS:
        limit = registry.ENVIRONMENTS[name].max_steps
    else:
        limit = gymnasium.spec(name).max_episode_steps
    return limit or LONGEST_EPISODE


def _check_makes(name: str, make: Callable[[], object]) -> None:
    """Make the environment once before any training: it may need what is not installed."""
    try:
        make()
    except ImplsError:
        raise
    except Exception as error:  # the environment's own constructor may raise anything
        raise SettingError(
            f"{name} cannot be made ({type(error).__name__}: {' '.join(str(error).split())}): "
            "install what it needs, or name another."
        ) from error
