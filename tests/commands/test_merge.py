"""`rlperf merge`: files in, one result, one report and one exit code out."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.report.result_file import run_as_dict, write_json
from pytest_rlperf.shards.union import FinishedRun
from tests.factories import a_test, verdict
from tests.sample_runs import WHY
from tests.shards.suites import SUITE, all_of_them, alone, measured

SLOWER = verdict(Outcome.REGRESSED, "surely", (0.25, 0.2, 0.3))
FINE = verdict(change=(0.01, 0.0, 0.02))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(*results: FinishedRun) -> list[str]:
    for each in results:
        write_json(each.path, run_as_dict(each.run, each.exit_code))
    return [str(each.path) for each in results]


def fine_shards() -> list[FinishedRun]:
    return [measured(k, [a_test(n, verdict=FINE) for n in SUITE[k - 1 :: 4]]) for k in (1, 2, 3, 4)]


def read(path: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(path).read_text())
    return content


def test_one_result_one_report_and_one_exit_code(capsys: pytest.CaptureFixture[str]):
    files = written(
        *fine_shards()[:3],
        measured(4, [a_test(SUITE[3], verdict=SLOWER), a_test(SUITE[7])], exit_code=1),
    )
    assert main(["merge", *files, "--output", "result.json", "--report", "out"]) == 1
    assert read("result.json") == read("out/report.json")
    assert read("result.json")["summary"] == {"regressed": 1, "unchanged": 7}
    assert read("result.json")["exit_code"] == 1
    assert sorted(path.name for path in Path("out").iterdir()) == [
        *("report.html", "report.json", "report.md"),
    ]
    said = capsys.readouterr().out
    assert said.startswith(f"{SUITE[3]}:\nREGRESSED: time +25.0 % ")
    assert "rlperf: 1 regressed, 7 unchanged in 49 s" in said.splitlines()
    assert "from shard 4: 2 tests in 12 s, on Some CPU" in said.splitlines()


def test_without_files_to_write_it_says_what_there_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["merge", *written(*fine_shards())]) == 0
    assert "8 unchanged" in capsys.readouterr().out
    assert {path.suffix for path in folder.iterdir()} == {".json"}
    assert len(list(folder.iterdir())) == 4


def test_a_missing_shard_is_named_and_nothing_is_written(capsys: pytest.CaptureFixture[str]):
    files = written(*all_of_them())
    assert main(["merge", *files[:2], files[3], "--output", "result.json"]) == 4
    assert capsys.readouterr().err.startswith("rlperf: shard 3 of 4 is missing: ")
    assert not Path("result.json").exists()


def test_nothing_compared_in_all_shards_is_told_by_the_exit_code():
    assert main(["merge", *written(*all_of_them())]) == 6


def test_part_of_a_suite_is_laid_over_a_full_result():
    before = alone(*(a_test(n, verdict=FINE) for n in SUITE))
    later = alone(
        a_test(SUITE[1], verdict=FINE), path="part.json", created="2031-01-01T00:00:00+00:00"
    )
    full, part = written(before, later)
    assert main(["merge", "--onto", full, part, "--output", "result.json"]) == 0
    tests = read("result.json")["tests"]
    assert [test["part"] == "2031-01-01 00:00 ffffffffff" for test in tests] == [
        nodeid == SUITE[1] for nodeid in SUITE
    ]


def test_all_shards_can_be_laid_over_and_none_may_be_missing(capsys: pytest.CaptureFixture[str]):
    (full,) = written(alone(*map(a_test, SUITE)))
    files = written(*fine_shards())
    assert main(["merge", *files, "--onto", full]) == 0
    assert main(["merge", *files[:3], "--onto", full]) == 4
    assert "shard 4 of 4 is missing" in capsys.readouterr().err


def test_figures_of_all_shards_come_into_the_report_even_from_folders_that_were_moved(
    folder: Path,
):
    shards = []
    for k, each in enumerate(fine_shards(), start=1):
        (folder / f"job{k}").mkdir()
        graph = folder / f"job{k}" / "test-a.svg"
        graph.write_text(f"<svg>{k}</svg>")
        explained = replace(WHY, graph=Path("/elsewhere") / graph.name)  # where it was measured
        tests = tuple(replace(test, explanation=explained) for test in each.run.tests[:1])
        shards.append(
            replace(
                each,
                path=folder / f"job{k}" / "report.json",
                run=replace(each.run, tests=(*tests, *each.run.tests[1:])),
            )
        )
    assert main(["merge", *written(*shards), "--report", "out"]) == 0
    names = ["test-a.svg", "test-a-2.svg", "test-a-3.svg", "test-a-4.svg"]
    assert [(folder / "out" / n).read_text() for n in names] == [
        f"<svg>{k}</svg>" for k in (1, 2, 3, 4)
    ]
    graphs = [t["profile"]["flame_graph"] for t in read("out/report.json")["tests"][:4]]
    assert [Path(graph).name for graph in graphs] == names
    page = (folder / "out" / "report.html").read_text()
    assert all(name in page for name in names)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--output", "nowhere/result.json"], "nowhere/result.json cannot be written (No such"),
        (["--report", "shard1.json"], "shard1.json cannot be written (File exists); name another"),
        (["missing.json"], "missing.json does not exist; write it with pytest --rlperf"),
    ],
)
def test_what_cannot_be_read_or_written_is_one_sentence(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["merge", *written(*fine_shards()), *words]) == 4
    assert capsys.readouterr().err.startswith(f"rlperf: {said}")
