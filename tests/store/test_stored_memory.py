"""Memory in a stored baseline: read back, refused where damaged, and absent in older files."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.baseline import Stored, StoredMemory
from pytest_rlperf.store.baseline_file import read_module, write_module
from tests.factories import FACTS, a_stored

NODE = "test_a.py::test_a"
MEMORY = StoredMemory(
    created="2030-01-02T03:04:05+00:00",
    commit="a" * 40,
    dirty=False,
    facts=FACTS,
    repeats=30,
    values={"peak_rss": (5e6, 5.1e6, 5e6), "growth": (0.0, -1.0, 0.5)},
)


def written(path: Path, test: Stored) -> dict[str, Any]:
    write_module(path, "test_a.py", [test])
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.mark.parametrize(
    "test",
    [a_stored(memory=MEMORY), Stored(NODE, "abc", weights={}, sessions=(), memory=MEMORY)],
    ids=["beside time", "alone"],
)
def test_memory_reads_back(tmp_path: Path, test: Stored):
    path = tmp_path / "a.json"
    written(path, test)
    assert read_module(path) == {NODE: test}


def test_a_file_from_before_memory_still_loads(tmp_path: Path):
    path = tmp_path / "a.json"
    content = written(path, a_stored())
    del content["tests"][NODE]["memory"]
    path.write_text(json.dumps({**content, "schema": 1}))
    assert read_module(path) == {NODE: a_stored()}


@pytest.mark.parametrize(
    ("name", "value"), [("repeats", "30"), ("values", []), ("values", {"uss": [1, 2]})]
)
def test_damaged_memory_is_named(tmp_path: Path, name: str, value: object):
    path = tmp_path / "a.json"
    content = written(path, a_stored(memory=MEMORY))
    content["tests"][NODE]["memory"][name] = value
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=rf"is damaged at {NODE}\.memory\.{name}"):
        read_module(path)


def test_a_baseline_of_nothing_cannot_be():
    with pytest.raises(ValueError, match="needs a session and a kernel, or memory"):
        Stored(NODE, "abc", weights={}, sessions=())
