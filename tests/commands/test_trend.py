"""`rlperf trend`: the history of a branch or a file, as a table, as Markdown and as data."""

import json
import random
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.history.branch import HistoryBranch
from pytest_rlperf.history.file import HistoryFile
from tests.history.histories import in_duets, in_reference_units
from tests.trees.repositories import new_repository, run_git

CREEPING, QUIET = "test_a.py::test_creeps[a]", "test_a.py::test_steady"
CREEPS = in_duets(random.Random(1), [0.01 * number for number in range(21)], CREEPING)
STEADY = in_reference_units(random.Random(1), [0.0] * 10, QUIET)


@pytest.fixture
def history(tmp_path: Path) -> str:
    path = tmp_path / "history.jsonl"
    HistoryFile(path).append([*CREEPS, *STEADY])
    return str(path)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = new_repository(tmp_path / "repository", {"lib.py": ""})
    monkeypatch.chdir(folder)
    return folder


def test_a_creep_that_no_run_failed_on_is_reported(
    history: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["trend", "--file", history]) == 0
    text = capsys.readouterr().out
    assert "CREEP: test_a.py::test_creeps[a] +" in text
    assert "over 20 commits since 0000000, and +5.0 % is allowed of one change" in text
    assert "test_a.py::test_steady" in text


def test_by_default_the_branch_is_read(repository: Path, capsys: pytest.CaptureFixture[str]):
    HistoryBranch(repository).append(STEADY)
    assert main(["trend"]) == 0
    assert "no change point and no creep." in capsys.readouterr().out


def test_a_branch_can_be_fetched_first(repository: Path, capsys: pytest.CaptureFixture[str]):
    HistoryBranch(repository).append(STEADY)
    clone = repository.parent / "clone"
    where = ("--single-branch", repository.as_uri(), str(clone))
    run_git(repository, "clone", "--quiet", *where)
    HistoryBranch(repository).append(CREEPS)
    with pytest.MonkeyPatch.context() as moved:
        moved.chdir(clone)
        assert main(["trend"]) == 4
        assert main(["trend", "--fetch", "origin"]) == 0
    assert "CREEP" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("steady", [QUIET]), ("creeps[a]", [CREEPING]), ("a.py::test_?*", [CREEPING, QUIET])],
)
def test_tests_can_be_chosen(
    history: str, pattern: str, found: list[str], capsys: pytest.CaptureFixture[str]
):
    assert main(["trend", "--file", history, "--test", pattern, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["trends"]
    assert [trend["nodeid"] for trend in told] == found


def test_the_data_holds_all_points(history: str, capsys: pytest.CaptureFixture[str]):
    main(["trend", "--file", history, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert [len(trend["points"]) for trend in told["trends"]] == [20, 10]
    assert [trend["signal"] for trend in told["trends"]] == ["chain", "reference"]
    assert told["troubles"] == []


def test_markdown_is_a_table(history: str, capsys: pytest.CaptureFixture[str]):
    assert main(["trend", "--file", history, "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| trend | last 3 against earlier |")


def test_a_damaged_line_is_told_and_the_others_count(
    history: str, capsys: pytest.CaptureFixture[str]
):
    path = Path(history)
    path.write_text("what is this?\n" + path.read_text())
    assert main(["trend", "--file", history]) == 0
    told = capsys.readouterr()
    assert told.err.startswith(f"rlperf: {history} line 1 is no JSON")
    assert told.err.count("\n") == 1
    assert "CREEP" in told.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--test", "nope"), "no test in the history matches --test 'nope'; there is test_a.py::"),
        (("--fetch", "origin"), "--file has no remote"),
    ],
)
def test_wrong_usage_is_one_sentence(
    history: str, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["trend", "--file", history, *words]) == 4
    assert capsys.readouterr().err.startswith(f"rlperf: {said}")


def test_an_empty_history_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "empty").write_text("")
    assert main(["trend", "--file", str(tmp_path / "empty")]) == 4
    assert capsys.readouterr().err == (
        "rlperf: the history holds no test yet; append results to it first.\n"
    )
