"""The files of a finished run: each is written, or said to be missing."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pytest_rlperf.options import Settings
from pytest_rlperf.run.publishing import Published, publish
from tests.factories import a_test, run_result


def published(**files: Path) -> Published:
    settings: Any = SimpleNamespace(**{"json": None, "report": None, **files})
    return publish(run_result(a_test()), 0, (), cast(Settings, settings), ())


def test_all_files_are_written(tmp_path: Path):
    file, folder = tmp_path / "result.json", tmp_path / "report"
    assert published(json=file, report=folder) == Published()
    assert json.loads(file.read_text()) == json.loads((folder / "report.json").read_text())


def test_a_file_whose_folder_vanished_meanwhile_costs_nothing_else(tmp_path: Path):
    file, folder = tmp_path / "gone" / "result.json", tmp_path / "report"
    done = published(json=file, report=folder)
    assert not done.complete
    assert done.notices == (
        f"{file} cannot be written: No such file or directory; "
        "what it would have held stands above.",
    )
    assert (folder / "report.json").exists()
