"""`--rlperf-json`: the result, schema 1."""

import datetime
from collections import Counter
from pathlib import Path

import pytest

from .projects import Ended, Workshop

TOP = {
    "schema", "mode", "against", "base_commit", "commit", "dirty", "created", "cost",
    "fingerprint", "tests", "kpis", "scaling", "vanished", "summary", "exit_code",
}  # fmt: skip
TEST = {
    "nodeid", "category", "source_hash", "work", "witnesses", "repeat_command", "metrics",
    "drift", "phases", "reference", "cost",
}  # fmt: skip
METRIC = {
    "name", "unit", "direction", "value", "base_value", "outcome", "change", "low", "high",
    "change_abs", "low_abs", "high_abs", "threshold", "threshold_abs", "detectable", "severity",
    "blocks", "head_blocks", "base_blocks",
    "block_changes", "label", "reason",
}  # fmt: skip


def test_all_keys_of_the_schema_are_there(outcomes: Ended):
    result = outcomes.result
    assert result.keys() >= TOP
    assert all(test.keys() >= TEST for test in result["tests"])
    assert all(m.keys() == METRIC for test in result["tests"] for m in test["metrics"])


def test_the_run_says_what_was_compared(outcomes: Ended):
    result = outcomes.result
    assert result["schema"] == 1
    assert result["mode"] == "against"
    assert result["against"] == f"base ({result['base_commit'][:7]})"
    assert len(result["base_commit"]) == 40
    assert result["dirty"] is True  # head is the working tree with its changes
    assert len(result["commit"]) == 40
    assert datetime.datetime.fromisoformat(result["created"]).tzinfo is not None
    assert result["interrupted"] is False


def test_the_summary_counts_the_tests(outcomes: Ended):
    assert outcomes.result["summary"] == Counter(outcomes.outcomes.values())


def test_the_fingerprint_names_machine_and_libraries(outcomes: Ended):
    fingerprint = outcomes.result["fingerprint"]
    assert fingerprint.keys() >= {"cpu", "cores", "python", "libraries"}
    assert fingerprint["libraries"].keys() >= {"pytest", "pytest-rlperf"}


def test_a_test_carries_what_it_declares(outcomes: Ended):
    test = outcomes.test("test_rollout")
    assert test["category"] == "env"
    assert test["metadata"] == {"game": "chain"}
    assert test["source_hash"] != outcomes.test("test_same")["source_hash"]


def test_a_metric_holds_its_blocks(outcomes: Ended):
    metric = outcomes.metric("test_slower")
    assert metric["blocks"] == len(metric["head_blocks"]) == len(metric["base_blocks"])
    assert min(metric["head_blocks"]) < metric["value"] < max(metric["head_blocks"])
    assert min(metric["base_blocks"]) < metric["base_value"] < max(metric["base_blocks"])


def test_the_changes_of_the_blocks_are_what_the_interval_rests_on(outcomes: Ended):
    for name in ("test_slower", "test_every_eighth", "test_unsteady"):
        metric = outcomes.metric(name)
        changes = metric["block_changes"]
        assert len(changes) == metric["blocks"]
        assert min(changes) <= metric["change"] <= max(changes)
    rate = outcomes.metric("test_rollout", "throughput")
    assert rate["block_changes"] == outcomes.metric("test_rollout")["block_changes"]


def test_a_confirmed_regression_took_more_blocks_than_a_pass(outcomes: Ended):
    passed = outcomes.metric("test_same")["blocks"]
    assert outcomes.metric("test_slower")["blocks"] > passed


def test_what_does_not_apply_is_null(outcomes: Ended):
    metric = outcomes.metric("test_new_on_head")
    absent = ("value", "base_value", "change", "low", "high", "detectable", "severity", "label")
    assert [metric[name] for name in absent] == [None] * len(absent)
    assert metric["block_changes"] == []


def test_each_side_imported_its_own_tree(outcomes: Ended):
    imported = outcomes.test("test_same")["imported"]
    assert Path(imported["head"]["lib"]) == outcomes.folder / "lib.py"
    assert not Path(imported["base"]["lib"]).is_relative_to(outcomes.folder)
    assert Path(imported["base"]["lib"]).name == "lib.py"
    assert Path(imported["base"]["test_perf"]).parent.name == "tests"


@pytest.mark.parametrize(
    ("name", "path", "sentence"),
    [
        (
            "json-folder",
            "nowhere/result.json",
            "nowhere/result.json: its folder does not exist; create it first.",
        ),
        ("json-is-folder", "..", "is a folder; name a file in it."),
    ],
    ids=["no folder", "a folder"],
)
def test_what_cannot_be_written_is_refused_before_measuring(
    workshop: Workshop, name: str, path: str, sentence: str
):
    ended = workshop.project(name, {"test_a.py": ""}).refuse("--rlperf", f"--rlperf-json={path}")
    assert ended.code == 4
    assert sentence in ended.text
