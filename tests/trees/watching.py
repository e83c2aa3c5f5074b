"""A pytest plugin that watches every test of a session as a worker does, and writes what it saw."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.reading import typed
from pytest_rlperf.wire import plain
from pytest_rlperf.worker.watch import CodeWatch

TREE, CHANGES, SEEN = (os.environ[name] for name in ("WATCHED_TREE", "CHANGES", "SEEN"))
watch = CodeWatch(typed(CodeChanges, json.loads(Path(CHANGES).read_text())), TREE)
watch.install()


def pytest_collection_finish() -> None:
    watch.collected()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    watch.begin()
    yield
    line = json.dumps([item.nodeid, plain(watch.end(item))])
    with open(SEEN, "a", encoding="utf-8") as file:
        file.write(line + "\n")
