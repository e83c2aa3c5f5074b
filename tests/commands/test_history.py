"""`rlperf history append`: a result becomes lines of the history."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.history.branch import HistoryBranch
from pytest_rlperf.history.file import HistoryFile
from pytest_rlperf.report.result_file import run_as_dict, write_json
from tests.factories import a_test, block, run_result
from tests.trees.repositories import new_repository, run_git

BLOCKS = tuple(block([500], [400]) for _ in range(3))
TESTS = [a_test(f"test_a.py::test_{name}", blocks=BLOCKS) for name in "ab"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = new_repository(tmp_path / "repository", {"lib.py": ""})
    monkeypatch.chdir(folder)
    return folder


def a_result(folder: Path, **fields: Any) -> str:
    path = folder.parent / "result.json"
    run = run_result(*TESTS, commit=run_git(folder, "rev-parse", "HEAD"))
    write_json(path, {**run_as_dict(run, 0), **fields})
    return str(path)


def test_by_default_it_goes_to_a_branch_of_its_own(
    repository: Path, capsys: pytest.CaptureFixture[str]
):
    result = a_result(repository)
    assert main(["history", "append", result]) == 0
    assert main(["history", "append", result]) == 0
    short = run_git(repository, "rev-parse", "HEAD")[:7]
    assert capsys.readouterr().out.splitlines() == [
        f"appended 2 tests of {short} to the branch rlperf-data",
        f"appended 0 tests of {short} to the branch rlperf-data; 2 were there already",
    ]
    assert run_git(repository, "status", "--porcelain") == ""
    assert [test.nodeid for test in HistoryBranch(repository).read().tests] == [
        "test_a.py::test_a",
        "test_a.py::test_b",
    ]


def test_the_date_of_the_commit_comes_from_git(repository: Path):
    main(["history", "append", a_result(repository), "--file", "history.jsonl"])
    test = HistoryFile(Path("history.jsonl")).read().tests[0]
    told = datetime.fromisoformat(run_git(repository, "log", "-1", "--format=%cI"))
    assert test.committed == told.astimezone(UTC).isoformat()
    assert test.date == test.committed != test.created


def test_a_commit_that_is_not_here_stands_by_the_date_of_its_result(repository: Path):
    main(["history", "append", a_result(repository, commit="e" * 40), "--file", "history.jsonl"])
    test = HistoryFile(Path("history.jsonl")).read().tests[0]
    assert (test.committed, test.date) == (None, "2030-01-02T03:04:05+00:00")


def test_what_looks_like_an_option_of_git_is_no_commit(repository: Path):
    main(["history", "append", a_result(repository, commit="--output=x"), "--file", "h.jsonl"])
    assert HistoryFile(Path("h.jsonl")).read().tests[0].committed is None
    assert not Path("x").exists()


def test_a_torn_line_is_told(repository: Path, capsys: pytest.CaptureFixture[str]):
    Path("history.jsonl").write_text('{"schema": 1, "nod')
    assert main(["history", "append", a_result(repository), "--file", "history.jsonl"]) == 0
    assert capsys.readouterr().err == (
        "rlperf: the history ended in a line that was cut off; it was put aside in "
        "history.jsonl.torn.\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--file", "h.jsonl", "--push", "origin"), "--file has no remote; keep"),
        (("--file", "no/h.jsonl"), "the history cannot be written to no/h.jsonl (No such file"),
        (("--branch", "main"), "the branch 'main' is one of your code"),
    ],
)
def test_wrong_usage_is_one_sentence(
    repository: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["history", "append", a_result(repository), *words]) == 4
    told = capsys.readouterr().err
    assert told.startswith(f"rlperf: {said}")
    assert told.count("\n") == 1


def test_a_result_of_uncommitted_changes_is_refused(
    repository: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["history", "append", a_result(repository, dirty=True)]) == 4
    assert "measured with uncommitted changes" in capsys.readouterr().err


def test_a_branch_and_a_file_exclude_each_other(repository: Path):
    with pytest.raises(SystemExit) as exited:
        main(["history", "append", a_result(repository), "--file", "h", "--branch", "b"])
    assert exited.value.code == 4


def test_a_line_is_plain_json(repository: Path):
    main(["history", "append", a_result(repository), "--file", "history.jsonl"])
    line = json.loads(Path("history.jsonl").read_text().splitlines()[0])
    assert (line["schema"], line["nodeid"]) == (1, "test_a.py::test_a")
