"""The numbers that runs and commands end with; 2 to 5 are pytest's own."""

from collections.abc import Mapping
from enum import IntEnum


class ExitCode(IntEnum):
    FINE = 0
    FAILED = 1
    INTERRUPTED = 2
    USAGE = 4
    NO_TESTS = 5
    NOTHING_COMPARED = 6


MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.FINE: "nothing regressed and nothing failed",
    ExitCode.FAILED: "a test regressed, crossed the alert of a KPI, or failed as any test does",
    ExitCode.INTERRUPTED: "Ctrl+C, or a module that could not be collected",
    ExitCode.USAGE: "what was asked for cannot be done; one sentence says why",
    ExitCode.NO_TESTS: "no performance test was selected, and no comparison asked for",
    ExitCode.NOTHING_COMPARED: "a comparison was asked for (--rlperf-against, --rlperf-strict), "
    "and nothing could be compared",
}
"""Of `pytest --rlperf`."""
