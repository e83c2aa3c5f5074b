"""Which tests are performance tests, and how to name them again."""

import hashlib
import inspect
import shlex

import pytest

from pytest_rlperf.markers import MARKER

FIXTURE = "rlperf"


def is_performance_test(item: pytest.Item) -> bool:
    """It uses the fixture, or is marked and forgot to: the latter fails when it runs."""
    return FIXTURE in getattr(item, "fixturenames", ()) or bool(item.get_closest_marker(MARKER))


def source_hash(item: pytest.Item) -> str:
    """Of the test function's own text; empty where there is none to read."""
    function = getattr(item, "function", None)
    try:
        text = inspect.getsource(inspect.unwrap(function)) if function else ""
    except (OSError, TypeError):
        text = ""
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def repeat_command(nodeid: str, against: str | None, config: pytest.Config) -> str:
    """The command that measures just this test again, in the same way."""
    words = ["pytest", "--rlperf"]
    if against is not None:
        words.append(f"--rlperf-against={against}")
    threshold = config.getoption("rlperf_threshold")
    if threshold:
        words.append(f"--rlperf-threshold={threshold}")
    return shlex.join([*words, nodeid])
