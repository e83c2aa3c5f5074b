"""`rlperf export`: our result in pytest-benchmark's format, read by pytest-benchmark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.export import run_as_dict, write_json
from tests.factories import a_test, block, run_result

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
