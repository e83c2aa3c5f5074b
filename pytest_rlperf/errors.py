"""Errors a user can cause. Each message says what failed, then what to do."""


class RlperfError(Exception):
    """Base class of every error this plugin raises on purpose."""


class UsageError(RlperfError):
    """The command line, the configuration or a marker cannot be obeyed."""


class RevisionError(RlperfError):
    """The base revision cannot be found, laid out or built."""


class FixtureError(RlperfError):
    """A test used the `rlperf` fixture in a way that cannot be measured."""


class MemoryUnreadable(RlperfError):
    """The system does not say how much memory a process has."""


class PartnerGone(RlperfError):
    """The other side of the duet stopped in the middle of a test."""
