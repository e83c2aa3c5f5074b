"""The zoo of changes: each still finds its place in the code, and what is said of them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.proof.facts import REPOSITORY
from tests.evidence.zoo.__main__ import main
from tests.evidence.zoo.changes import GATES, Change, Kind, changes
from tests.evidence.zoo.run import Record, applied, read
from tests.evidence.zoo.table import differs, is_below_line, render

EVERY = list(changes())
TEXTS = {(change.file, change.old, change.new): change for change in EVERY}


@pytest.mark.parametrize("change", TEXTS.values(), ids=lambda change: change.title)
def test_a_change_has_one_place_in_the_code_and_leaves_python(change: Change):
    text = applied(change, REPOSITORY)
    assert change.new in text or not change.new
    compile(text, change.file, "exec")


def test_there_are_as_many_as_are_reported():
    kinds = [change.kind for change in EVERY]
    assert kinds.count(Kind.BUG) >= 20
    assert kinds.count(Kind.DRAWS) >= 100
    assert kinds.count(Kind.REFACTORING) >= 30
    assert len({(c.kind, c.name, c.gate) for c in EVERY}) == len(EVERY)


def test_every_gate_is_a_test():
    tests = (REPOSITORY / "tests/learns/test_agents_learn.py").read_text(encoding="utf-8")
    assert all(gate.split(" ")[0] in tests for gate in GATES)


def a_record(head: list[float], base: list[float], **more: object) -> Record:
    known = {
        "kind": "bug", "name": "a mistake", "gate": "test_ppo", "outcome": "regressed",
        "change": 0.25, "low": 0.2, "high": 0.3, "seeds": len(head), "seconds": 12.0,
        "said": "less", "commit": "c", "date": "2026-11-19", "machine": "m",
        "cores": 2, "versions": "python 3.11.7",
    }  # fmt: skip
    return Record(**{**known, **more}, head=tuple(head), base=tuple(base))  # type: ignore[arg-type]


def test_each_change_is_tried_once_and_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The gate itself is played here: what it would say stands in the result that it writes."""
    really, tried = subprocess.run, []

    def run_it(words: list[str], **more: Any) -> Any:
        if words[0] == "git":
            return really(words, **more)
        tried.append((Path(more["cwd"]) / "rl_impls" / first.file).read_text(encoding="utf-8"))
        (result,) = (word.split("=")[1] for word in words if word.startswith("--rlperf-json="))
        Path(result).write_text(json.dumps({"tests": [A_TEST]}), encoding="utf-8")
        return subprocess.CompletedProcess(words, 1, "", "")

    first, second = EVERY[:2]
    monkeypatch.setattr("tests.evidence.zoo.run.changes", lambda: [first, second])
    monkeypatch.setattr("subprocess.run", run_it)
    words = ["run", "--out", str(tmp_path / "out"), "--scratch", str(tmp_path / "scratch")]
    assert main(words) == 0
    assert first.new in tried[0]
    assert first.old in tried[1]
    assert [record.name for record in read(tmp_path / "out")] == [first.name, second.name]
    assert read(tmp_path / "out")[0].said == "it learns less; 1 of 2 seeds failed: ValueError: no"
    assert main(words) == 0
    assert len(tried) == 2


A_TEST = {
    "outcome": "regressed",
    "metrics": [
        {
            **{"change": 0.5, "low": 0.4, "high": 0.6, "blocks": 2, "reason": "it learns less"},
            **{"head_blocks": [1.0, 0.0], "base_blocks": [2.0, 2.0]},
        }
    ],
    "learning": {"head": [{"failure": None}, {"failure": "Traceback\nValueError: no"}]},
}


def test_the_rules_of_thumb():
    base = [500.0, 480.0, 490.0, 470.0, 495.0]
    assert is_below_line(a_record([500.0, 480.0, 400.0], base))
    assert not is_below_line(a_record([500.0, 480.0, 450.0, 100.0], base))
    assert differs(a_record([300.0, 310.0, 290.0, 305.0, 299.0], base))
    assert not differs(a_record(base, base))
    assert not differs(a_record([300.0], base))


def test_records_are_read_back_and_make_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from dataclasses import asdict

    from pytest_rlperf.files import append_lines
    from tests import schema_lines
    from tests.evidence.zoo.run import SCHEMA

    record, file = a_record([300.0] * 8, [500.0] * 8), tmp_path / "zoo.jsonl"
    append_lines(file, [schema_lines.to_line(SCHEMA, asdict(record))])
    assert read(file) == [record]
    assert main(["table", str(file)]) == 0
    printed = capsys.readouterr().out
    assert (
        "| a mistake | test_ppo | regressed | -25 % [-30, -20 %] | 8 | 12 | caught | caught |"
        in printed
    )
    assert "<sub>1 of m, 2 cores; 2026-11-19; python 3.11.7; commit c.</sub>" in printed
    assert "| mistakes | 1 | 1 | 0 | 0 | 12 | 1 | 1 |" in printed


def test_the_page_shows_the_table_of_its_records():
    docs = REPOSITORY / "docs"
    page = (docs / "learning-gate.md").read_text(encoding="utf-8")
    assert render(read(docs / "proof/zoo.jsonl")) in page
