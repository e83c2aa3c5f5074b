"""The files of a finished run: each is written, or said to be missing."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pytest_rlperf.gate.publishing import Published, publish, report_files
from pytest_rlperf.history.branch import HistoryBranch
from pytest_rlperf.model.learning import LearningMetric, LearningResult, Training
from pytest_rlperf.options import Settings
from tests.factories import a_past, a_test, run_result
from tests.trees.repositories import new_repository


def published(root: Path, **files: Path) -> Published:
    given = {"json": None, "report": None, "history": "rlperf-data", **files}
    settings: Any = SimpleNamespace(**given)
    return publish(run_result(a_test()), 0, (), cast(Settings, settings), (), root)


def test_all_files_are_written(tmp_path: Path):
    file, folder = tmp_path / "result.json", tmp_path / "report"
    assert published(tmp_path, json=file, report=folder) == Published()
    assert json.loads(file.read_text()) == json.loads((folder / "report.json").read_text())


def test_a_file_that_became_a_folder_meanwhile_costs_nothing_else(tmp_path: Path):
    file, folder = tmp_path / "result.json", tmp_path / "report"
    file.mkdir()
    done = published(tmp_path, json=file, report=folder)
    assert not done.complete
    (notice,) = done.notices
    assert notice.startswith(f"{file} cannot be written: Is a directory")
    assert notice.endswith("; what it would have held stands above.")
    assert (folder / "report.json").exists()


def test_the_report_draws_the_history_of_the_repository(tmp_path: Path):
    root = new_repository(tmp_path / "repository", {"lib.py": ""})
    HistoryBranch(root).append([a_past("a" * 40), a_past("b" * 40)])
    published(root, report=tmp_path / "report")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert '<section id="trends">' in page


def test_curves_of_what_was_learned_become_a_figure(tmp_path: Path):
    curve = ((0.0, 1.0), (10.0, 5.0))
    side = tuple(Training(seed, {"": curve}) for seed in range(3))
    learning = LearningResult(LearningMetric.AREA, side, side, goal=4.0)
    test = a_test("tests/test_a.py::test_learns[x]", learning=learning)
    figure = tmp_path / "tests-test-a-py-test-learns-x-curves.svg"
    write = report_files(tmp_path, run_result(test), dict, lambda: None)[figure]
    write(figure)
    assert "3 of 3 seeds" in figure.read_text(encoding="utf-8")
