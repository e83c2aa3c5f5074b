"""`rlperf report`: the report of a run that is over, from its result."""

import json
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.gate.publishing import report_files
from pytest_rlperf.history.branch import HistoryBranch
from pytest_rlperf.history.file import HistoryFile
from pytest_rlperf.report.result_file import run_as_dict, write_json
from tests.sample_history import PAST
from tests.sample_runs import EVERYTHING, SLOWER
from tests.trees.repositories import new_repository


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a folder that is in no repository, so that there is no history."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "result.json"
    write_json(path, run_as_dict(EVERYTHING, 1))
    return path


def test_all_three_files_are_those_that_the_run_would_have_written(
    result: Path, capsys: pytest.CaptureFixture[str]
):
    ours, runs = result.parent / "ours", result.parent / "runs"
    assert main(["report", str(result), "--out", str(ours)]) == 0
    assert capsys.readouterr().out == f"{ours / 'report.html'}\n"
    runs.mkdir()
    content = run_as_dict(EVERYTHING, 1)
    for path, write in report_files(runs, EVERYTHING, lambda: content, lambda: None).items():
        write(path)
    names = sorted(path.name for path in ours.iterdir())
    assert names == ["report.html", "report.json", "report.md"]
    assert [(ours / name).read_text() for name in names] == [
        (runs / name).read_text() for name in names
    ]


def test_without_a_folder_it_is_written_into_one_of_its_own(result: Path):
    assert main(["report", "result.json"]) == 0
    written = result.parent / "rlperf-report" / "report.json"
    assert json.loads(written.read_text()) == json.loads(result.read_text())


def test_a_file_that_is_none_of_ours_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "other.json").write_text("{}")
    assert main(["report", str(tmp_path / "other.json"), "--out", str(tmp_path / "out")]) == 4
    assert "is no result of this plugin" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_page_has_the_trends_of_the_history_that_is_named(result: Path):
    HistoryFile(Path("history.jsonl")).append(PAST)
    assert main(["report", "result.json"]) == 0
    without = Path("rlperf-report/report.html").read_text(encoding="utf-8")
    assert main(["report", "result.json", "--file", "history.jsonl"]) == 0
    page = Path("rlperf-report/report.html").read_text(encoding="utf-8")
    assert "CREEP: " not in without
    assert f"CREEP: {SLOWER.nodeid} +" in page


def test_the_history_of_the_repository_is_shown_without_being_asked_for(
    result: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(new_repository(result.parent / "repository", {"lib.py": ""}))
    HistoryBranch(Path.cwd()).append(PAST)
    assert main(["report", str(result)]) == 0
    assert f"CREEP: {SLOWER.nodeid} +" in Path("rlperf-report/report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--file", "nothing.jsonl"), "the history nothing.jsonl cannot be read (No such file"),
        (("--branch", "other"), "git finds no repository at "),
        (("--file", "a", "--fetch", "origin"), "--file has no remote; keep"),
    ],
)
def test_a_history_that_was_asked_for_has_to_be_there(
    result: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["report", "result.json", *words]) == 4
    assert capsys.readouterr().err.startswith(f"rlperf: {said}")
    assert not Path("rlperf-report").exists()


def test_a_folder_that_is_a_file_is_named(result: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(result), "--out", str(result)]) == 4
    said = f"rlperf: {result} cannot be written (File exists); name another folder with --out.\n"
    assert capsys.readouterr().err == said
