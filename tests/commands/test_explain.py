"""`rlperf explain`: the worst test, or the one that is named."""

from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.report.explain import render_explained, render_others, render_run
from pytest_rlperf.report.result_file import read_run, run_as_dict, write_json
from tests.factories import run_result
from tests.sample_runs import EVERYTHING, FASTER, LARGER, SAME, SLOWER


@pytest.fixture
def result(tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    write_json(path, run_as_dict(EVERYTHING, 1))
    return path


def test_without_a_name_the_worst_is_explained_and_the_others_are_listed(
    result: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["explain", str(result)]) == 0
    run, _ = read_run(result)
    test = next(test for test in run.tests if test.nodeid == SLOWER.nodeid)
    lines = [*render_run(run), "", *render_explained(run, test), *render_others(run, test)]
    assert capsys.readouterr().out == "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", [LARGER.nodeid, "memory_of_a_full"])
def test_a_test_is_named_by_its_node_id_or_a_part_that_no_other_has(
    name: str, result: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["explain", str(result), name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3] == LARGER.nodeid
    assert not any(line.startswith("others") for line in lines)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("test_averaging", "'test_averaging' names 3 tests: tests/perf/test_mpi.py::"),
        ("test_forwards", "the result has no test 'test_forwards'; there is tests/perf/"),
    ],
)
def test_a_name_that_names_not_one_test_is_refused_in_a_sentence(
    name: str, said: str, result: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["explain", str(result), name]) == 4
    error = capsys.readouterr().err
    assert error.startswith(f"rlperf: {said}")
    assert len(error.splitlines()) == 1


def test_where_nothing_regressed_it_says_so_and_lists_what_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "result.json"
    write_json(path, run_as_dict(run_result(SAME, FASTER), 0))
    assert main(["explain", str(path)]) == 0
    said = capsys.readouterr().out
    assert "nothing regressed." in said.splitlines()[0]
    assert f"  improved time -22.1 %: {FASTER.nodeid}" in said


def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "other.json").write_text("{}")
    assert main(["explain", str(tmp_path / "other.json")]) == 4
    assert "is no result of this plugin" in capsys.readouterr().err
