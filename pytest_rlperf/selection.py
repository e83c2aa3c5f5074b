"""Which tests are performance tests, and how to name them again."""

import hashlib
import inspect
import os
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


def repeat_command(item: pytest.Item, config: pytest.Config) -> str:
    """The command that measures just this test again, from the same folder in the same way."""
    chosen = set(config.option.file_or_dir or ())
    words = [word for word in config.invocation_params.args if str(word) not in chosen]
    module = os.path.relpath(item.path, config.invocation_params.dir)
    inside = item.nodeid.partition("::")[2]
    return shlex.join(["pytest", *map(str, words), f"{module}::{inside}" if inside else module])
