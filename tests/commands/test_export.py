"""`rlperf export`: our result in pytest-benchmark's format, read by pytest-benchmark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_benchmark.stats import Stats

from pytest_rlperf.cli import main
from pytest_rlperf.commands.export import as_pytest_benchmark, stats_of
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.result_file import run_as_dict, write_json
from tests.factories import a_test, block, examples, run_result

MEASURED = a_test(spec=Spec(category="agents"), blocks=(block([500], [400]), block([600], [400])))


@pytest.fixture
def result(tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    write_json(path, run_as_dict(run_result(MEASURED), 0))
    return path


def export(result: Path, *more: str) -> int:
    return main(["export", str(result), "--format", "pytest-benchmark", *more])


def pytest_benchmark(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "pytest_benchmark", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert "Failed to load" not in done.stderr
    return done.stdout


def test_without_a_file_it_is_printed(result: Path, capsys: pytest.CaptureFixture[str]):
    assert export(result) == 0
    assert json.loads(capsys.readouterr().out)["benchmarks"][0]["name"] == "test_a"


def test_pytest_benchmark_compares_exported_files(result: Path):
    for name in ("first.json", "second.json"):
        assert export(result, "--output", str(result.parent / name)) == 0
    table = pytest_benchmark(result.parent, "compare", "first.json", "second.json")
    assert "benchmark 'agents': 2 tests" in table
    assert "test_a (first)" in table
    assert "550.0000 (1.0)" in table


def test_pytest_benchmark_lists_exported_files_in_its_storage(result: Path):
    storage = result.parent / ".benchmarks" / "machine"
    storage.mkdir(parents=True)
    assert export(result, "--output", str(storage / "0001_exported.json")) == 0
    assert "0001_exported.json" in pytest_benchmark(result.parent, "list")
    assert "test_a" in pytest_benchmark(result.parent, "compare", "0001", "--csv=table")
    assert "test_a" in (result.parent / "table.csv").read_text()


def test_a_file_that_is_none_of_ours_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "other.json").write_text('{"benchmarks": []}')
    assert export(tmp_path / "other.json", "--output", str(tmp_path / "out.json")) == 4
    said = capsys.readouterr().err
    assert said == (
        f"rlperf: {tmp_path / 'other.json'} is no result of this plugin; "
        "name a file that --rlperf-json wrote.\n"
    )
    assert not (tmp_path / "out.json").exists()


def test_an_output_that_cannot_be_written_is_named(
    result: Path, capsys: pytest.CaptureFixture[str]
):
    target = result.parent / "nowhere" / "out.json"
    assert export(result, "--output", str(target)) == 4
    said = f"rlperf: {target} cannot be written (No such file or directory); name another file.\n"
    assert capsys.readouterr().err == said


def test_a_format_must_be_chosen(result: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as exited:
        main(["export", str(result)])
    assert exited.value.code == 4
    assert "--format" in capsys.readouterr().err


# A result in pytest-benchmark's format, with pytest-benchmark itself as the judge of it.


NODE = "tests/test_a.py::TestA::test_a[3-chain]"
EXPORTED = a_test(
    NODE,
    spec=Spec(category="agents", metadata={"env": "Chain"}),
    blocks=(block([500, 500], [400, 400]), block([600, 600], [400, 400])),
)
RESULT = run_as_dict(
    run_result(EXPORTED, a_test("test_b.py::test_b"), fingerprint={"system": "Linux 6.1"}), 0
)


@examples
@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=40))
def test_the_statistics_are_those_of_pytest_benchmark(times: list[float]):
    theirs = Stats()
    theirs.data = times
    ours = stats_of(times)
    counts = {"iqr_outliers", "stddev_outliers", "outliers", "ld15iqr", "hd15iqr"}
    assert ours.keys() == set(Stats.fields)
    for name in ours.keys() - counts:
        assert ours[name] == pytest.approx(getattr(theirs, name), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 20])
def test_outliers_and_whiskers_are_those_of_pytest_benchmark(number: int):
    theirs = Stats()
    theirs.data = [1.1**i for i in range(number)] + [50.0] * (number > 4)
    ours = stats_of(theirs.data)
    names = ("iqr_outliers", "stddev_outliers", "outliers", "ld15iqr", "hd15iqr")
    assert [ours[name] for name in names] == [getattr(theirs, name) for name in names]


def test_a_block_is_a_round_in_seconds():
    (found,) = as_pytest_benchmark(RESULT)["benchmarks"]
    assert found["stats"]["data"] == pytest.approx([500e-9, 600e-9])
    assert found["stats"]["rounds"] == 2
    assert found["stats"]["iterations"] == 1


def test_names_group_and_verdict_are_kept():
    (found,) = as_pytest_benchmark(RESULT)["benchmarks"]
    assert (found["name"], found["fullname"]) == ("test_a[3-chain]", NODE)
    assert (found["param"], found["group"]) == ("3-chain", "agents")
    assert found["extra_info"]["env"] == "Chain"
    assert found["extra_info"]["rlperf"]["outcome"] == "unchanged"
    assert found["extra_info"]["rlperf"]["against"] == "main (1a2b3c4)"


def test_a_test_without_blocks_is_left_out():
    names = [bench["fullname"] for bench in as_pytest_benchmark(RESULT)["benchmarks"]]
    assert names == [NODE]


def test_machine_and_commit_are_named():
    found = as_pytest_benchmark(RESULT)
    assert (found["machine_info"]["system"], found["machine_info"]["release"]) == ("Linux", "6.1")
    assert found["commit_info"]["id"] == "f" * 40
    assert found["commit_info"]["dirty"] is False
    assert found["datetime"] == "2030-01-02T03:04:05+00:00"
