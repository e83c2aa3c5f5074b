"""A line of the history survives the file; what is none is told with its place."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.baselines.levels import reference_time
from pytest_rlperf.errors import UsageError
from pytest_rlperf.history.file import HistoryFile, entries_of, line_of, read_history
from pytest_rlperf.history.records import Signal
from pytest_rlperf.history.trend import trends
from pytest_rlperf.machine.fingerprint import machine_key
from pytest_rlperf.model.block import Drift, Reference, ReferenceTime, SideDrift
from pytest_rlperf.model.metric import Interval, Metric, Outcome
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.result_file import run_as_dict
from pytest_rlperf.shards.union import part_of
from tests.factories import FACTS, a_past, a_past_metric, a_test, block, run_result, verdict

WHOLE = a_past(
    base="b" * 40,
    committed="2030-01-01T00:00:00+00:00",
    category="agents",
    steal=0.02,
    drift=0.05,
    reference=ReferenceTime(1, {"interpreter": 0.5, "clock": 13.8}, {"interpreter": 1.0}),
    metrics=(a_past_metric(change=0.01, low=0.0, high=0.02, threshold=0.05),),
)


METRIC = json.loads(line_of(WHOLE))["metrics"][0]


def damaged(**fields: object) -> str:
    return json.dumps({**json.loads(line_of(WHOLE)), **fields})


def test_a_test_survives_its_line():
    tests = (a_past(), WHOLE)
    assert read_history("history", map(line_of, tests)).tests == tests


def test_a_line_has_no_blocks_and_no_line_end():
    line = line_of(WHOLE)
    assert "\n" not in line
    assert "head_blocks" not in line


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{half", "is no JSON (Expecting property name"),
        ("[" * 100_000, "is no JSON (it is nested too deeply)"),
        ('{"schema": NaN}', "is no JSON (it holds NaN, which is no finite number); mend it"),
        (damaged(steal=1e999).replace("Infinity", "1e999"), "is no JSON (it holds 1e999"),
        (damaged(schema=99), "has schema 99, and this version reads up to 1; update pytest-rlperf"),
        (damaged(schema="1"), "is no line of a history; mend it or take it out"),
        ("[]", "is no line of a history"),
        (damaged(created="yesterday"), "is damaged at created"),
        (damaged(created="2030-01-02T03:04:05"), "is damaged at created"),
        (damaged(metrics=[{"name": "time"}]), "is damaged at metrics[0].direction"),
        (damaged(metrics=[{**METRIC, "low": -1.0}]), "is damaged at metrics[0].low"),
        (damaged(reference={"edition": 1}), "is damaged at reference.log_ratios"),
        (
            damaged(reference={"edition": 1, "log_ratios": {"clock": "1"}, "weights": {}}),
            "is damaged at reference.log_ratios.clock",
        ),
    ],
)
def test_a_line_that_is_none_is_told_with_its_place_and_the_others_are_read(line: str, said: str):
    past = read_history("history.jsonl", [line_of(a_past()), line, line_of(WHOLE)])
    assert past.tests == (a_past(), WHOLE)
    (trouble,) = past.troubles
    assert trouble.startswith(f"history.jsonl line 2 {said}")
    assert trouble.endswith(".")


def test_a_torn_end_is_told():
    past = read_history("history.jsonl", [line_of(WHOLE)], torn=b'{"sch')
    assert past.tests == (WHOLE,)
    assert past.troubles == (
        "history.jsonl ends in a line that was cut off; the next `rlperf history append` puts it "
        "aside.",
    )


# What the history keeps of a result.


MEASURED = a_test(
    spec=Spec(category="agents"),
    verdict=verdict(Outcome.REGRESSED, "slower", (0.25, 0.24, 0.26)),
    blocks=tuple(block([500], [400], steal=steal) for steal in (0.0, 0.03, 0.01)),
    steps=7,
    source_hash="abc",
)
RUN = run_result(MEASURED, fingerprint=FACTS, base_commit="b" * 40)
TEST = run_as_dict(RUN, 0)["tests"][0]


def entries(run: RunResult, **fields: Any) -> Any:
    return entries_of({**run_as_dict(run, 0), **fields}, "result.json", committed=None)


def test_a_measured_test_is_kept_with_what_trends_need():
    (test,) = entries(RUN)
    assert (test.nodeid, test.commit, test.base) == (MEASURED.nodeid, "f" * 40, "b" * 40)
    assert (test.machine, test.python) == ("some-cpu-2-cores-x86-64", "3.11.7, GCC 12.2.0")
    assert (test.category, test.source_hash, test.mode) == ("agents", "abc", "against")
    assert (test.steal, test.drift, test.reference) == (0.03, None, None)


def test_a_machine_is_kept_by_its_key_of_which_older_results_know_less():
    newer: Any = {**FACTS, "family": "26", "simd": "avx"}
    (test,) = entries(replace(RUN, fingerprint=newer))
    assert test.machine == machine_key(newer) != machine_key({**newer, "simd": "avx avx2"})
    (older,) = entries(replace(RUN, fingerprint={}))
    assert older.machine == "unknown-unknown-cores-unknown"


def test_time_is_kept_once_with_its_verdict_and_without_its_blocks():
    ((time,),) = (test.metrics for test in entries(RUN))
    assert (time.name, time.unit, time.value, time.outcome) == ("time", "ns", 500, "regressed")
    assert (time.change, time.low, time.high, time.threshold) == (0.25, 0.24, 0.26, 0.05)
    assert time.blocks == 3


def test_the_time_over_every_kernel_is_kept_with_the_unit_it_was_judged_in():
    played = [
        block([1000], None, reference=Reference({"stride": (ns,), "interpreter": (500,)}))
        for ns in (90, 100, 110)
    ]
    test = a_test(blocks=tuple(played), reference=reference_time(played, {"stride": 1.0}))
    (kept,) = entries(run_result(test))
    assert kept.reference.log_ratios == pytest.approx(
        {"clock": 6.907755, "stride": 2.305944, "interpreter": 0.693147}, abs=1e-5
    )
    assert kept.reference.weights == {"stride": 1.0}


@pytest.mark.parametrize(("matters", "kept"), [(True, 0.2), (False, None)])
def test_drift_is_kept_where_it_matters(matters: bool, kept: float | None):
    drift = Drift(8, SideDrift(Interval(0.2, 0.1, 0.3), matters))
    (test,) = entries(run_result(a_test(blocks=MEASURED.blocks, drift=drift)))
    assert test.drift == kept


def test_what_was_not_measured_is_not_kept():
    (test,) = entries(run_result(a_test("test_b.py::test_skipped", skipped="no GPU"), MEASURED))
    assert test.nodeid == MEASURED.nodeid


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"dirty": True}, "was measured with uncommitted changes, so it belongs to no commit"),
        ({"commit": None}, "was measured outside of a repository, so it belongs to no commit"),
        ({"mode": "prove"}, "is a proof of the gate, not a measurement"),
        ({"tests": []}, "holds no test that was measured; there is nothing to append"),
    ],
)
def test_what_is_no_measurement_of_a_commit_is_refused(fields: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=rf"result\.json {said}"):
        entries(RUN, **fields)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"created": "yesterday"}, r"what it says of test_a\.py::test_a is damaged at created"),
        ({"commit": 5}, "is damaged at commit"),
        ({"base_commit": []}, "is damaged at base_commit"),
        ({"tests": [{**TEST, "witnesses": {"steal": "much"}}]}, "is damaged at .*witnesses.steal"),
        ({"tests": [{**TEST, "witnesses": None}]}, "is damaged at .*witnesses"),
        ({"tests": [{**TEST, "drift": {"head": {}}}]}, "is damaged at .*drift.head.change"),
        ({"tests": [{**TEST, "reference": {}}]}, "is damaged at .*reference.edition"),
    ],
)
def test_what_nobody_could_read_back_is_not_kept(fields: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=rf"result\.json:? {said}.*; write it with pytest"):
        entries(RUN, **fields)


# The history in a file: appended once, and mended after a writer that was killed.


FIRST, SECOND = a_past("a" * 40), a_past("b" * 40)
WRITER = """
import sys
from pathlib import Path
from pytest_rlperf.history.file import HistoryFile
from tests.factories import a_past

file = HistoryFile(Path(sys.argv[1]))
for number in range(20):
    file.append([a_past(f"{sys.argv[2]}{number:039}", f"test_a.py::test_{i}") for i in range(5)])
"""


@pytest.fixture
def history(tmp_path: Path) -> HistoryFile:
    return HistoryFile(tmp_path / "history.jsonl")


def test_what_is_appended_is_read_in_order(history: HistoryFile):
    history.append([FIRST])
    kept = history.append([SECOND])
    assert (kept.added, kept.where, kept.torn) == (1, str(history.path), None)
    assert history.read().tests == (FIRST, SECOND)


def test_a_result_that_is_there_already_is_not_written_again(history: HistoryFile):
    history.append([FIRST])
    assert history.append([FIRST, SECOND]).added == 1
    assert history.read().tests == (FIRST, SECOND)


def test_a_torn_line_is_put_aside_and_what_it_held_can_be_appended_again(history: HistoryFile):
    history.append([FIRST, SECOND])
    torn = history.path.read_bytes()[:-40]
    history.path.write_bytes(torn)
    assert "cut off" in history.read().troubles[0]
    kept = history.append([FIRST, SECOND])
    assert kept.added == 1
    assert kept.torn == f"{history.path}.torn"
    assert Path(kept.torn).read_text() == torn.decode().split("\n")[1] + "\n"
    assert (history.read().tests, history.read().troubles) == ((FIRST, SECOND), ())


def test_a_line_that_nobody_can_read_stays_where_it_is(history: HistoryFile):
    history.path.write_text("what is this?\n")
    history.append([FIRST])
    assert history.path.read_text() == f"what is this?\n{line_of(FIRST)}\n"
    assert history.read().tests == (FIRST,)


def test_two_processes_that_append_at_once_lose_nothing(history: HistoryFile):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(history.path), name]) for name in "ab"
    ]
    assert [writer.wait(timeout=300) for writer in writers] == [0, 0]
    past = history.read()
    assert past.troubles == ()
    assert len({(test.commit, test.nodeid) for test in past.tests}) == 2 * 20 * 5


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    nowhere = HistoryFile(tmp_path / "nowhere" / "history.jsonl")
    with pytest.raises(UsageError, match=r"cannot be written to .*\(No such file or directory\)"):
        nowhere.append([FIRST])
    with pytest.raises(UsageError, match=r"cannot be read \(No such file or directory\); write"):
        nowhere.read()


def test_who_learns_three_times_as_much_is_kept_and_has_a_trend():
    """A share of what the base learns: its loss is -200 %."""
    said = verdict(Outcome.IMPROVED, change=(-2.0, -2.5, -1.5))
    metric = Metric("mean_return", said, head=(300.0,) * 8, base=(100.0,) * 8, value=300.0)
    test = a_test(timed=False, beside=(metric,))
    later = replace(RUN, tests=(test,), commit="e" * 40, created="2030-01-03T03:04:05+00:00")
    kept = [*entries(replace(RUN, tests=(test,))), *entries(later)]
    read = read_history("history.jsonl", map(line_of, kept))
    assert (read.tests, read.troubles) == (tuple(kept), ())
    (trend,) = trends(read.tests)
    assert (trend.metric, trend.signal, len(trend.points)) == ("mean_return", Signal.RETURNS, 2)


# -- results of several runs --------------------------------------------------------------------


def test_tests_of_shards_are_of_the_machine_that_measured_them():
    tests = [a_test(f"t.py::t{k}", blocks=(block([500], [400]),)) for k in (1, 2)]
    cpus = {"shard 1": "Some CPU", "shard 2": "Another CPU"}
    parts = tuple(
        part_of(run_result(fingerprint={**FACTS, "cpu": cpu}, created=f"2030-01-0{k}"), name)
        for k, (name, cpu) in enumerate(cpus.items(), start=1)
    )
    run = run_result(
        *(replace(test, part=part.name) for test, part in zip(tests, parts, strict=True)),
        parts=tuple(replace(part, created=f"{part.created}T00:00:00+00:00") for part in parts),
    )
    entries = entries_of(run_as_dict(run, 0), "result.json", None)
    assert [entry.machine for entry in entries] == [
        machine_key({**FACTS, "cpu": cpu}) for cpu in cpus.values()
    ]
    assert [entry.created[:10] for entry in entries] == ["2030-01-01", "2030-01-02"]


def test_what_was_measured_at_another_commit_belongs_to_the_result_of_that():
    old, new = (a_test(f"t.py::t{k}", blocks=(block([500], [400]),)) for k in (1, 2))
    run = run_result(
        replace(old, part="old"),
        replace(new, part="new"),
        parts=(
            part_of(run_result(commit="e" * 40), "old"),
            part_of(run_result(), "new"),
        ),
    )
    (entry,) = entries_of(run_as_dict(run, 0), "result.json", None)
    assert (entry.nodeid, entry.commit) == ("t.py::t2", "f" * 40)
