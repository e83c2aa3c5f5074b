"""Errors a user can cause, and the numbers that runs and commands end with.

The message of an error says what failed, then what to do.
"""

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

PACKAGE = Path(__file__).parent


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


@contextmanager
def never_fatal(say: Callable[[str], None]) -> Iterator[None]:
    """Explain, draw or publish a result; where that fails, say why. It may cost the picture, never
    the verdict.
    """
    try:
        yield
    except Exception as error:
        say(_reason(error))


def _reason(error: Exception) -> str:
    """Return one line on an error: its message, and of a mistake of this plugin where it is."""
    if isinstance(error, RlperfError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    place = ""
    if own:
        file = Path(own[-1].filename).relative_to(PACKAGE.parent).as_posix()
        place = f" at {file}:{own[-1].lineno}"
    return f"{type(error).__name__}{place}: {error} (a mistake of pytest-rlperf: please report it)"


class ExitCode(IntEnum):
    """The number that a run or a command ends with; 2 to 5 are pytest's own."""

    FINE = 0
    FAILED = 1
    INTERRUPTED = 2
    USAGE = 4
    NO_TESTS = 5
    NOTHING_COMPARED = 6


MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.FINE: "nothing regressed and nothing failed",
    ExitCode.FAILED: "a test regressed, crossed the alert of a KPI, or failed as any test does",
    ExitCode.INTERRUPTED: "Ctrl+C or SIGTERM, or a module that could not be collected",
    ExitCode.USAGE: "what was asked for cannot be done; one sentence says why",
    ExitCode.NO_TESTS: "no performance test was selected, and no comparison asked for",
    ExitCode.NOTHING_COMPARED: "a comparison was asked for (--rlperf-against, --rlperf-strict, "
    "--rlperf-else-against), and nothing could be compared",
}
"""Why `pytest --rlperf` ends with each of them."""
