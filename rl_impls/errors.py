"""Errors a user can cause, and the checks of numbers that raise them.

Each message says what failed, then what to do.
"""

import math


class ImplsError(Exception):
    """Base class of every error this package raises on purpose."""


class SettingError(ImplsError, ValueError):
    """A hyper-parameter or a size makes no sense."""


class SpaceError(ImplsError):
    """An environment has states or actions that no table can hold."""


class EnvironmentFault(ImplsError):
    """An environment raised an error, or returned what is no number."""


class IllegalAction(ImplsError, ValueError):
    """An action that the rules do not allow here."""


class TableFileError(ImplsError):
    """A saved table cannot be read."""


class LogError(ImplsError):
    """A row cannot be logged."""


class WorkerDied(ImplsError):
    """A process of a training ended before its work was done."""


class MissingDependency(ImplsError, ImportError):
    """Something optional is asked for and is not installed."""


class AgentFileError(ImplsError):
    """A saved agent cannot be read."""


class Diverged(ImplsError):
    """A loss or a gradient of a training is no longer finite."""


def at_least(least: int, **values: int) -> None:
    """Refuse whole numbers below `least`, by name."""
    for name, value in values.items():
        if not value >= least:
            raise SettingError(f"{name} is at least {least}, not {value}.")


def fraction(**values: float) -> None:
    """Refuse numbers outside of 0 to 1, by name."""
    for name, value in values.items():
        if not 0.0 <= value <= 1.0:
            raise SettingError(f"{name} lies between 0 and 1, not at {value}.")


def positive(**values: float) -> None:
    """Refuse numbers that are not finite and above 0, by name."""
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise SettingError(f"{name} lies above 0, not at {value}.")


def not_negative(**values: float) -> None:
    """Refuse numbers that are not finite or below 0, by name."""
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise SettingError(f"{name} is 0 or more, not {value}.")
