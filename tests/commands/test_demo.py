"""`rlperf demo`: the project that it makes, and a run in it."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.commands.demo import write_demo


def rewards_at(folder: Path, revision: str):
    source = subprocess.run(
        ["git", "show", f"{revision}:rewards.py"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    spec = importlib.util.spec_from_loader("rewards", loader=None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(source.stdout, module.__dict__)
    return module


def test_both_commits_compute_the_same(tmp_path: Path):
    write_demo(tmp_path)
    before, after = rewards_at(tmp_path, "HEAD~1"), rewards_at(tmp_path, "HEAD")
    values = [1.0, 4.0, 2.0]
    assert before.returns(values, 0.5) == after.returns(values, 0.5) == [3.5, 5.0, 2.0]
    assert before.normalised(values) == after.normalised(values)
    assert not hasattr(before, "discounted")
    assert after.discounted(4.0, 0.5) == 2.0


def test_its_tests_pass_as_plain_tests(tmp_path: Path):
    write_demo(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "3 passed" in done.stdout


def test_it_measures_and_names_the_report(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--folder", "shown"]) == 0
    said = capfd.readouterr().out
    page = tmp_path / "shown" / "report" / "report.html"
    assert f"the report: {page}" in said
    assert page.stat().st_size > 10_000
    result = json.loads(page.with_suffix(".json").read_text())
    outcomes = {test["nodeid"]: test["metrics"][0]["outcome"] for test in result["tests"]}
    assert len(outcomes) == 3
    assert outcomes["tests/test_choices.py::test_best"] == "same_code"


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "mine").write_text("mine")
    for name in (".", "mine"):
        assert main(["demo", "--folder", str(tmp_path / name)]) == 4
        assert "name a folder that is not there yet" in capsys.readouterr().err
    assert (tmp_path / "mine").read_text() == "mine"
