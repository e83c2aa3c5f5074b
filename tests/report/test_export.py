"""The machine-readable result: its shape, its numbers, and that it is whole or not there."""

import json
import math
from pathlib import Path

import pytest

from pytest_rlperf.model.block import Block
from pytest_rlperf.model.result import Vanished
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import Outcome, Severity
from pytest_rlperf.report.evidence import witnesses
from pytest_rlperf.report.export import run_as_dict, write_json
from tests.factories import a_test, block, run_result, side, verdict

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
        "interrupted": False,
        "fingerprint": {"cpu": "Some CPU"},
        "kpis": [],
        "scaling": [],
        "vanished": [],
        "summary": {"regressed": 1, "unchanged": 1},
        "exit_code": 1,
    }


def test_a_test_has_all_fields_of_the_schema():
    (found,) = run_as_dict(run_result(SLOWER), 1)["tests"]
    del found["metrics"], found["witnesses"], found["plan"], found["blocks"]
    assert found == {
        "nodeid": "test_a.py::test_a",
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
        "memory": None,
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
    assert found == {"steal": 0.2, "preempted_per_s": 3.0, "cpu_change": 0.5}


def test_without_a_partner_there_is_no_change_of_cpu_time():
    assert witnesses(a_test(blocks=(block([10], None),))).keys() == {"steal", "preempted_per_s"}


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
