"""A plug-in of pytest that writes the benchmarks of a collection into a file, a line of JSON each:
`pytest --collect-only -p pytest_rlperf.assistant.listing`.
"""

import json
import os
from pathlib import Path

import pytest

from pytest_rlperf.gate.selection import is_performance_test, learning_spec, measures_memory
from pytest_rlperf.markers import spec_of

FILE = "RLPERF_LISTING"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found = [_told(item) for item in items if is_performance_test(item)]
    text = "".join(f"{json.dumps(each)}\n" for each in found)
    Path(os.environ[FILE]).write_text(text, encoding="utf-8")


def _told(item: pytest.Item) -> dict[str, object]:
    spec = spec_of(item)
    return {
        "nodeid": item.nodeid,
        "category": spec.category,
        "memory": measures_memory(item, spec),
        "learning": learning_spec(item) is not None,
    }
