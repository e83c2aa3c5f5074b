"""Reading a result back: our own files, and one sentence for every other."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import read_figure
from pytest_rlperf.model.block import Block, RankFacts
from pytest_rlperf.model.metric import Outcome, Severity
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.profile import Explanation
from pytest_rlperf.model.result import RunResult, Vanished
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.evidence import witnesses
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.result_file import (
    read_result,
    read_run,
    run_as_dict,
    run_from,
    write_json,
)
from pytest_rlperf.report.result_file.read import equal_parts
from pytest_rlperf.report.terminal import render_sections
from tests.factories import a_test, block, examples, run_result, side, verdict
from tests.sample_runs import EVERYTHING


def written() -> dict[str, Any]:
    measured = a_test(blocks=(block([500], [400]), block([501], [400])), steps=5)
    return run_as_dict(run_result(measured, a_test("test_b.py::test_b")), 0)


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_result(path)
    (sentence,) = str(caught.value).splitlines()
    assert sentence.startswith(f"{path} ")
    return sentence.removeprefix(f"{path} ")


def refusal_of(tmp_path: Path, text: str) -> str:
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    return refusal(path)


def test_what_was_written_reads_back(tmp_path: Path):
    write_json(tmp_path / "result.json", written())
    assert read_result(tmp_path / "result.json") == written()


def test_a_field_of_a_later_version_of_the_same_schema_is_kept(tmp_path: Path):
    write_json(tmp_path / "result.json", {**written(), "weather": "fair"})
    assert read_result(tmp_path / "result.json")["weather"] == "fair"


def test_a_result_that_does_not_tell_what_it_cost_reads_too():
    content = written()
    del content["cost"], content["tests"][0]["cost"]
    run = run_from(content)
    assert run.cost is run.tests[0].cost is None


def test_a_missing_file_is_named_with_how_to_write_one(tmp_path: Path):
    said = "does not exist; write it with pytest --rlperf --rlperf-json=FILE."
    assert refusal(tmp_path / "nowhere.json") == said


def test_a_folder_cannot_be_read(tmp_path: Path):
    assert (
        refusal(tmp_path) == "cannot be read (Is a directory); it must be a file that you may read."
    )


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"', "{}", '{"benchmarks": []}'])
def test_a_file_of_another_kind_is_none_of_ours(tmp_path: Path, text: str):
    said = "is no result of this plugin; name a file that --rlperf-json wrote."
    assert refusal_of(tmp_path, text) == said


def test_a_file_nested_too_deeply_is_none_of_ours_either(tmp_path: Path):
    assert refusal_of(tmp_path, "[" * 100_000).startswith(
        "is no whole JSON file (it is nested too deeply); write it"
    )


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    path = tmp_path / "result.json"
    path.write_bytes(b"\x80\x81")
    assert refusal(path).startswith("is no text ('utf-8' codec")


@examples
@given(st.data())
def test_a_truncated_file_is_refused_wherever_it_ends(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    text = json.dumps(written())
    part = text[: data.draw(st.integers(0, len(text) - 1))]
    said = refusal_of(tmp_path_factory.mktemp("part"), part)
    assert said.startswith("is no whole JSON file (")
    assert said.endswith("; write it with pytest --rlperf --rlperf-json=FILE.")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(tmp_path: Path, number: str):
    text = json.dumps(written()).replace("500.5", number)
    assert f"(it holds {number}, which is no finite number)" in refusal_of(tmp_path, text)


def test_a_newer_schema_asks_for_an_update(tmp_path: Path):
    said = "has schema 2, and this version reads up to 1; update pytest-rlperf."
    assert refusal_of(tmp_path, json.dumps({**written(), "schema": 2})) == said


@pytest.mark.parametrize("schema", [0, -1, True, "1", None, 1.0])
def test_an_unknown_schema_is_named(tmp_path: Path, schema: object):
    text = json.dumps({**written(), "schema": schema})
    assert refusal_of(tmp_path, text).startswith(f"has the unknown schema {schema!r};")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("mode", None),
        ("tests", {}),
        ("tests.0", "test_a"),
        ("tests.1.nodeid", 7),
        ("tests.0.metrics", None),
        ("tests.0.metrics.0", []),
        ("tests.0.metrics.0.value", "fast"),
        ("tests.0.metrics.1.name", None),
        ("tests.0.metrics.0.head_blocks", None),
        ("tests.0.metrics.0.head_blocks", [1.0, None]),
        ("tests.0.metrics.0.base_blocks", [0]),
        ("tests.0.metrics.0.base_blocks", [True]),
    ],
)
def test_damage_is_located(tmp_path: Path, where: str, value: object):
    content = written()
    *way, last = (int(step) if step.isdigit() else step for step in where.split("."))
    place: Any = content
    for step in way:
        place = place[step]
    place[last] = value
    shown = re.sub(r"\.(\d)", r"[\1]", where)
    assert refusal_of(tmp_path, json.dumps(content)).startswith(f"is damaged at {shown}")


KPI = {
    "name": "latency", "metric": "time", "target": 1.0, "alert": 2.0, "unit": "ms", "value": 1.5,
    "low": 1.4, "high": 1.6, "blocks": 3, "status": "missed", "reason": "", "nodeid": None,
}  # fmt: skip


@pytest.mark.parametrize("lost", ["low", "high"])
def test_the_value_of_a_kpi_has_an_interval(tmp_path: Path, lost: str):
    text = json.dumps({**written(), "kpis": [{**KPI, lost: None}]})
    assert refusal_of(tmp_path, text).startswith(f"is damaged at kpis[0].{lost}")


# The machine-readable result: its shape, its numbers, and that it is whole or not there.


SLOWER = a_test(
    verdict=verdict(
        Outcome.REGRESSED, "slower", (0.25, 0.24, 0.26), detectable=0.06, severity=Severity.HIGH
    ),
    spec=Spec(category="agents", metadata={"env": "Chain"}),
    blocks=(block([500, 500], [400, 400]), block([501, 501], [400, 400])),
    log_ratios=(math.log(1.25), math.log(1.26)),
    steps=5,
    source_hash="abc",
    imported={"head": {"lib": "/head/lib.py"}},
)


def test_a_run_has_all_fields_of_the_schema():
    run = run_result(SLOWER, a_test("test_b.py::test_b"), base_commit="b" * 40)
    found = run_as_dict(run, exit_code=1)
    del found["tests"]
    assert found == {
        "schema": 1,
        "mode": "against",
        "against": "main (1a2b3c4)",
        "base_commit": "b" * 40,
        "commit": "f" * 40,
        "dirty": False,
        "created": "2030-01-02T03:04:05+00:00",
        "seconds": 12.346,
        "budget_seconds": None,
        "needed_seconds": None,
        "cost": None,
        "interrupted": False,
        "fingerprint": {"cpu": "Some CPU"},
        "code_changes": None,
        "environments": None,
        "kpis": [],
        "scaling": [],
        "vanished": [],
        "shard": None,
        "parts": [],
        "summary": {"regressed": 1, "unchanged": 1},
        "exit_code": 1,
    }


def test_a_test_has_all_fields_of_the_schema():
    (found,) = run_as_dict(run_result(SLOWER), 1)["tests"]
    del found["metrics"], found["witnesses"], found["plan"], found["blocks"]
    assert found == {
        "nodeid": "test_a.py::test_a",
        "part": None,
        "category": "agents",
        "metadata": {"env": "Chain"},
        "device": None,
        "outcome": "regressed",
        "failure": None,
        "skipped": None,
        "steps": 5,
        "source_hash": "abc",
        "work": {},
        "repeat_command": "pytest --rlperf test_a.py::test_a",
        "first_call_ns": None,
        "ranks": None,
        "drift": None,
        "reference": None,
        "phases": [],
        "imported": {"head": {"lib": "/head/lib.py"}},
        "differences": [],
        "memory": None,
        "cost": None,
    }


def test_time_is_a_metric_with_its_verdict_and_its_blocks():
    (test,) = run_as_dict(run_result(SLOWER), 1)["tests"]
    assert test["metrics"][0] == {
        "name": "time",
        "unit": "ns",
        "direction": "lower",
        "value": 500.5,
        "base_value": 400.0,
        "outcome": "regressed",
        "change": 0.25,
        "low": 0.24,
        "high": 0.26,
        "change_abs": None,
        "low_abs": None,
        "high_abs": None,
        "threshold": 0.05,
        "threshold_abs": None,
        "detectable": 0.06,
        "severity": "high",
        "blocks": 2,
        "head_blocks": [500.0, 501.0],
        "base_blocks": [400.0, 400.0],
        "block_changes": pytest.approx([0.25, 0.26]),
        "label": None,
        "reason": "slower",
    }


def test_a_block_has_the_sums_of_both_sides():
    (test,) = run_as_dict(run_result(SLOWER), 1)["tests"]
    assert test["blocks"][1] == {
        "index": 0,
        "core": 0,
        "steal": 0.0,
        "head": {
            "slices": 2,
            "calls": 1,
            "own_ns": 1002,
            "wall_ns": 1002,
            "cpu_ns": 1002,
            "preempted": 0,
        },
        "base": {
            "slices": 2,
            "calls": 1,
            "own_ns": 800,
            "wall_ns": 800,
            "cpu_ns": 800,
            "preempted": 0,
        },
    }


def test_declared_steps_show_the_same_verdict_as_throughput():
    (test,) = run_as_dict(run_result(SLOWER), 1)["tests"]
    time, rate = test["metrics"]
    assert (rate["name"], rate["unit"], rate["direction"]) == ("throughput", "steps/s", "higher")
    assert rate["base_value"] == 5 / 400e-9
    same = ["outcome", "change", "low", "high", "threshold", "severity", "blocks", "reason"]
    same.append("block_changes")
    assert [rate[name] for name in same] == [time[name] for name in same]


def test_what_was_not_measured_is_null():
    bare = a_test(verdict=verdict(Outcome.FAILED, "nothing", threshold=None), plan=None)
    (found,) = run_as_dict(run_result(bare), 1)["tests"]
    (time,) = found["metrics"]
    assert found["plan"] is None
    assert found["witnesses"] == found["work"] == {}
    empty = ("value", "base_value", "change", "low", "high", "threshold", "detectable", "severity")
    assert {time[name] for name in empty} == {None}
    assert time["blocks"] == 0
    assert time["block_changes"] == []


def test_the_declared_work_is_the_last_blocks():
    worked = Block(side([1], work={"updates": 7.0}), side([1]), core=0)
    (found,) = run_as_dict(run_result(a_test(blocks=(worked,))), 0)["tests"]
    assert found["work"] == {"updates": 7.0}


def test_witnesses_are_taken_over_all_blocks():
    quiet = block([10**9], [10**9], steal=0.01)
    head = side([10**9], preempted=6, cpu_ns=(2 * 10**9,))
    busy = Block(head, side([10**9]), core=0, steal=0.2)
    found = witnesses(a_test(blocks=(quiet, busy)))
    assert found == {"steal": 0.2, "preempted_per_s": 3.0, "cpu_change": 0.5, "others": 0.0}


def test_what_others_took_of_the_core_is_told_where_the_sides_take_turns():
    waited = Block(side([80], wall_ns=(100,)), side([100], wall_ns=(100,)), core=0)
    assert witnesses(a_test(blocks=(waited,)))["others"] == pytest.approx(0.1)
    at_once = replace(a_test(blocks=(waited,)), plan=Plan(Mode.CONCURRENT, 1, 2, 1))
    assert "others" not in witnesses(at_once)


def test_without_a_partner_there_is_no_change_of_cpu_time():
    alone = a_test(blocks=(block([10], None),))
    assert witnesses(alone).keys() == {"steal", "preempted_per_s", "others"}


def test_a_written_result_reads_back(tmp_path: Path):
    content = run_as_dict(run_result(SLOWER), 1)
    write_json(tmp_path / "result.json", content)
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == content
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), object(), {1, 2}])
def test_a_result_that_cannot_be_written_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, bad: object
):
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises((TypeError, ValueError)):
        write_json(path, {"good": 1, "bad": bad})
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_target_that_cannot_be_replaced_leaves_no_file_behind(tmp_path: Path):
    (tmp_path / "result.json" / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match="result"):
        write_json(tmp_path / "result.json", {})
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_a_written_result_can_be_read_by_others(tmp_path: Path):
    other = tmp_path / "other"
    other.touch()
    write_json(tmp_path / "result.json", {})
    assert (tmp_path / "result.json").stat().st_mode == other.stat().st_mode


def test_a_stored_baseline_holds_no_seconds_so_its_value_follows_from_the_change():
    stored = a_test(
        verdict=verdict(change=(0.25, 0.2, 0.3)), blocks=(block([500, 500], None),) * 3, steps=5
    )
    (test,) = run_as_dict(run_result(stored), 0)["tests"]
    time, rate = test["metrics"]
    assert (time["value"], time["base_value"], time["base_blocks"]) == (500, 400, [])
    assert rate["base_value"] == pytest.approx(5 / 400e-9)


def test_vanished_tests_are_named_with_their_new_names():
    gone = (Vanished("a.py::old", "a.py::new"), Vanished("a.py::gone"))
    assert run_as_dict(run_result(vanished=gone), 0)["vanished"] == [
        {"nodeid": "a.py::old", "renamed_to": "a.py::new"},
        {"nodeid": "a.py::gone", "renamed_to": None},
    ]


# A run from its result file: all that a report tells of it comes back.


def plain(run: RunResult) -> dict[str, Any]:
    """As a file has it."""
    found: dict[str, Any] = json.loads(json.dumps(run_as_dict(run, 1)))
    return found


def test_what_was_read_back_would_be_written_the_same():
    assert plain(run_from(plain(EVERYTHING))) == plain(EVERYTHING)


def test_the_report_of_a_file_is_the_report_of_its_run():
    again = run_from(plain(EVERYTHING))
    assert render_markdown(again) == render_markdown(EVERYTHING)
    assert render_sections(again) == render_sections(EVERYTHING)


RANKS = RankFacts((5.0, 6.0), (0.1, 0.2), (1e6, 2e6))
JOB = replace(block([10, 11], [9, 9]), head=side([10, 11], ranks=RANKS))


def test_ranks_come_back_with_their_blocks():
    run = run_result(a_test(blocks=(JOB, JOB)))
    assert plain(run_from(plain(run)))["tests"][0]["ranks"] == plain(run)["tests"][0]["ranks"]


def test_what_a_later_version_tells_of_ranks_is_passed_over(tmp_path: Path):
    content = plain(run_result(a_test(blocks=(JOB,))))
    content["tests"][0]["blocks"][0]["head"]["ranks"]["later"] = 5
    write_json(tmp_path / "result.json", content)
    run, _ = read_run(tmp_path / "result.json")
    assert run.tests[0].blocks[0].head.ranks == RANKS


@examples
@given(st.integers(1, 10**12), st.integers(1, 50))
def test_equal_parts_add_up(total: int, parts: int):
    found = equal_parts(total, parts)
    assert sum(found) == total
    assert len(found) == parts
    assert max(found) - min(found) <= 1


def test_a_file_holds_a_run(tmp_path: Path):
    write_json(tmp_path / "result.json", run_as_dict(EVERYTHING, 1))
    run, content = read_run(tmp_path / "result.json")
    assert [test.nodeid for test in run.tests] == [test.nodeid for test in EVERYTHING.tests]
    assert content == plain(EVERYTHING)


@pytest.mark.parametrize("metrics", [[], [{"name": "of a later version"}]])
def test_a_test_of_which_nothing_is_known_is_refused_in_one_sentence(metrics: list[Any]):
    content = plain(run_result(a_test()))
    content["tests"][0]["metrics"] = metrics
    with pytest.raises(ValueError, match="nothing was judged of test_a"):
        run_from(content)


@pytest.mark.parametrize("lost", ["blocks", "phases", "metrics", "metadata"])
def test_a_result_that_lacks_what_a_report_needs_is_refused_in_one_sentence(
    tmp_path: Path, lost: str
):
    content = plain(EVERYTHING)
    del content["tests"][0][lost]
    write_json(tmp_path / "result.json", content)
    assert refusal(tmp_path / "result.json").startswith(f"is damaged at tests[0].{lost};")


@pytest.mark.parametrize("lost", ["failure", "plan", "steps", "cost", "memory", "drift"])
def test_what_may_be_null_may_be_absent(tmp_path: Path, lost: str):
    content = plain(EVERYTHING)
    del content["tests"][0][lost]
    write_json(tmp_path / "result.json", content)
    run, again = read_run(tmp_path / "result.json")
    assert again["tests"][0][lost] is None
    assert render_markdown(run)


def test_a_proof_has_no_report_but_its_own(tmp_path: Path):
    write_json(tmp_path / "result.json", {**plain(EVERYTHING), "proof": {}})
    with pytest.raises(UsageError, match="give that run --rlperf-report=DIR"):
        read_run(tmp_path / "result.json")


# Figures: read below the result's own folder, as plain files, and nowhere else.


def graph_of(folder: Path, name: str) -> Path | None:
    """The figure that a result in `folder` is read to name."""
    content = plain(run_result(replace(SLOWER, explanation=Explanation(graph=Path(name)))))
    write_json(folder / "result.json", content)
    run, _ = read_run(folder / "result.json")
    explanation = run.tests[0].explanation
    assert explanation is not None
    return explanation.graph


def test_a_figure_below_the_results_own_folder_is_found(tmp_path: Path):
    graph = tmp_path / "figures" / "graph.svg"
    graph.parent.mkdir()
    graph.write_text("<svg/>")
    assert graph_of(tmp_path, "figures/graph.svg") == graph_of(tmp_path, str(graph)) == graph


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../outside.svg", "link.svg", "linked/x.svg", "folder", "a\0b", "gone"]
)
def test_a_result_cannot_name_files_elsewhere(tmp_path: Path, name: str):
    folder, outside = tmp_path / "result", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (tmp_path / "outside.svg").write_text("<svg/>")
    (outside / "x.svg").write_text("<svg/>")
    (folder / "folder").mkdir()
    (folder / "link.svg").symlink_to(tmp_path / "outside.svg")
    (folder / "linked").symlink_to(outside)
    assert graph_of(folder, name) is None


@pytest.mark.parametrize(
    "content", [b"root:x:0:0:root", b"<html><svg/></html>", b"<svg/>" + b" " * 99]
)
def test_a_figure_is_an_svg_of_a_bounded_size(tmp_path: Path, content: bytes):
    (tmp_path / "graph.svg").write_bytes(content)
    assert read_figure(tmp_path / "graph.svg", most_bytes=50) is None
