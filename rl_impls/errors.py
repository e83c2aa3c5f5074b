"""Errors a user can cause. Each message says what failed, then what to do."""


class ImplsError(Exception):
    """Base class of every error this package raises on purpose."""


class SettingError(ImplsError, ValueError):
    """A hyper-parameter or a size makes no sense."""


class SpaceError(ImplsError):
    """An environment has states or actions that no table can hold."""


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
