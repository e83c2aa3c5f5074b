"""All shards of a suite as one result: what they come to, and what is refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.kpi import BUILT_IN, KpiResult, Status
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Vanished
from pytest_rlperf.report.result_file import read_run, run_as_dict, run_from
from pytest_rlperf.shards.union import FinishedRun, union
from tests.factories import a_test, verdict
from tests.shards.suites import FACTS, SUITE, all_of_them, alone, measured

SLOWER = verdict(Outcome.REGRESSED, "surely", (0.25, 0.2, 0.3))
NOTHING = verdict(Outcome.NO_BASELINE, "it is new")
COMPARED = verdict(change=(0.01, 0.0, 0.02))


def with_fourth(**fields: Any) -> list[FinishedRun]:
    """The fourth shard differs by these fields of its run."""
    *others, last = all_of_them()
    return [*others, replace(last, run=replace(last.run, **fields))]


def of_shard(**fields: Any) -> list[FinishedRun]:
    return [*all_of_them()[:3], measured(4, shard=fields)]


# -- what they come to --------------------------------------------------------------------------


def test_all_tests_are_there_in_the_order_of_the_suite_with_the_shard_they_are_from():
    run = union([*reversed(all_of_them())]).run
    assert [test.nodeid for test in run.tests] == list(SUITE)
    assert [test.part for test in run.tests] == [f"shard {k}" for k in (1, 2, 3, 4, 1, 2, 3, 4)]
    assert [part.name for part in run.parts] == ["shard 1", "shard 2", "shard 3", "shard 4"]
    assert run.shard is None


def test_the_one_result_reads_back_and_is_no_shard_any_more():
    merged = union(all_of_them())
    again = run_from(json.loads(json.dumps(run_as_dict(merged.run, merged.exit_code))))
    assert replace(again, seconds=merged.run.seconds) == replace(
        merged.run, parts=tuple(replace(p, seconds=round(p.seconds, 3)) for p in merged.run.parts)
    )
    with pytest.raises(UsageError, match="was put together of several runs already"):
        union([replace(merged, run=again)])


def test_seconds_and_costs_are_those_of_all_machines_and_a_budget_is_advised_for_one():
    shards = [
        replace(
            each,
            run=replace(each.run, seconds=10.0, cost=Spending(slices=2.0), needed_s=needed_s),
        )
        for each, needed_s in zip(all_of_them(), (None, 70.0, 90.0, None), strict=True)
    ]
    run = union(shards).run
    assert (run.seconds, run.cost, run.needed_s) == (40.0, Spending(slices=8.0), 90.0)


def test_facts_that_differ_stand_with_the_shards_only():
    shards = with_fourth(fingerprint={**FACTS, "cpu": "Another CPU", "threads": {SUITE[3]: 2}})
    threads: Any = {**FACTS, "threads": {SUITE[0]: 1}}
    shards[0] = replace(shards[0], run=replace(shards[0].run, fingerprint=threads))
    run = union(shards).run
    assert "cpu" not in run.fingerprint
    assert run.fingerprint["python"] == "3.11.7"
    assert run.fingerprint["threads"] == {SUITE[0]: 1, SUITE[3]: 2}
    assert [part.fingerprint["cpu"] for part in run.parts][2:] == ["Some CPU", "Another CPU"]


def test_what_vanished_is_what_no_shard_has():
    gone = Vanished("test_a.py::test_z")
    shards = with_fourth(vanished=(gone, Vanished(SUITE[0])))
    shards[0] = replace(shards[0], run=replace(shards[0].run, vanished=(gone,)))
    assert union(shards).run.vanished == (gone,)


def test_a_kpi_that_a_test_of_another_shard_claims_is_not_missed():
    claimed = KpiResult(BUILT_IN[0], Status.MET, "within", SUITE[0])
    unclaimed = [KpiResult(kpi, Status.NOT_MEASURED, "nobody claims it") for kpi in BUILT_IN[:2]]
    shards = [replace(each, run=replace(each.run, kpis=tuple(unclaimed))) for each in all_of_them()]
    shards[0] = replace(shards[0], run=replace(shards[0].run, kpis=(claimed, unclaimed[1])))
    assert union(shards).run.kpis == (claimed, unclaimed[1])


def test_a_stored_baseline_that_fits_the_tests_of_one_shard_is_named():
    shards = [
        replace(each, run=replace(each.run, mode="stored", base_commit=None, against=name))
        for each, name in zip(all_of_them(), (None, "baseline 'main'", None, None), strict=True)
    ]
    assert union(shards).run.against == "baseline 'main'"


def test_shards_without_a_test_are_shards_too():
    shards = [measured(k, [] if k > 1 else [a_test(n) for n in SUITE]) for k in (1, 2, 3, 4)]
    assert len(union(shards).run.tests) == 8


# -- the exit code ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "compared", "asked", "code"),
    [
        ((0, 0, 0, 0), True, True, 0),
        ((0, 1, 0, 0), True, True, 1),
        ((2, 1, 0, 0), True, True, 1),
        ((0, 2, 0, 0), True, True, 2),
        ((0, 0, 3, 0), True, True, 3),
        ((0, 0, 0, 0), False, True, 6),
        ((0, 0, 0, 0), False, False, 0),
        ((0, 1, 0, 0), False, True, 1),
    ],
)
def test_the_suite_ends_as_one_run_would_have(
    codes: tuple[int, ...], compared: bool, asked: bool, code: int
):
    own = COMPARED if compared else NOTHING
    shards = [
        measured(
            k,
            [a_test(n, verdict=own if k == 1 else NOTHING) for n in SUITE[k - 1 :: 4]],
            exit_code=codes[k - 1],
            shard={"asked": asked},
        )
        for k in (1, 2, 3, 4)
    ]
    assert union(shards).exit_code == code


# -- what is refused ----------------------------------------------------------------------------

TWICE = [*all_of_them(), replace(measured(2), path=Path("again.json"))]

REFUSALS: dict[str, tuple[Callable[[], list[FinishedRun]], str]] = {
    "a missing shard": (
        lambda: [measured(k) for k in (1, 2, 4)],
        "shard 3 of 4 is missing: its run left no result, or it was not named; measure it again.",
    ),
    "several missing shards": (
        lambda: [measured(3)],
        "shards 1, 2 and 4 of 4 are missing: their runs left no result",
    ),
    "a shard that is there twice": (
        lambda: TWICE,
        "shard 2 of 4 is there twice, in shard2.json and again.json; leave one of them out.",
    ),
    "a file that is no shard": (
        lambda: [*all_of_them()[:3], alone(a_test())],
        "full.json is no shard: its run had no --rlperf-shard; name the shards of one suite, or",
    ),
    "shards of other numbers": (
        lambda: [measured(1), measured(2, count=8)],
        "shard1.json is shard 1 of 4, and shard2.json is shard 2 of 8; name the shards of one run.",
    ),
    "another commit": (
        lambda: with_fourth(commit="c" * 40),
        "shard 3 of 4 (shard3.json) and shard 4 of 4 (shard4.json) are not of one suite: the "
        "commit is ffffffffff in the first and cccccccccc in the second; measure them again, all",
    ),
    "uncommitted changes in one": (
        lambda: with_fourth(dirty=True),
        "having uncommitted changes is no in the first and yes in the second;",
    ),
    "another base": (
        lambda: with_fourth(base_commit="c" * 40),
        "the base commit is bbbbbbbbbb in the first and cccccccccc in the second;",
    ),
    "no base": (
        lambda: with_fourth(mode="stored", base_commit=None),
        "the mode is against in the first and stored in the second;",
    ),
    "other baselines": (
        lambda: [
            replace(e, run=replace(e.run, mode="stored", base_commit=None, against=f"baseline {n}"))
            for e, n in zip(all_of_them(), "aaab", strict=True)
        ],
        "the shards were compared with baseline a and baseline b;",
    ),
    "another threshold": (
        lambda: of_shard(rules={"--rlperf-threshold": "0.1", "--rlperf-strict": "no"}),
        "--rlperf-threshold is the default in the first and 0.1 in the second;",
    ),
    "another version of the plug-in": (
        lambda: with_fourth(fingerprint={**FACTS, "libraries": {"pytest-rlperf": "1.1"}}),
        "the version of pytest-rlperf is 1.0 in the first and 1.1 in the second;",
    ),
    "another Python": (
        lambda: with_fourth(fingerprint={**FACTS, "python": "3.13.1"}),
        "the interpreter is CPython 3.11 in the first and CPython 3.13 in the second;",
    ),
    "another suite": (
        lambda: of_shard(suite=(*SUITE, "test_a.py::test_z")),
        "did not collect the same suite: only one of them has test_a.py::test_z; measure them",
    ),
    "another number of verdicts": (
        lambda: of_shard(verdicts=9),
        "the number of verdicts is 8 in the first and 9 in the second;",
    ),
    "another split": (
        lambda: of_shard(split="4567"),
        "shared the suite out by different seconds; give all shards the same file with ",
    ),
    "a test in no shard": (
        lambda: [*all_of_them()[:3], measured(4, [a_test(SUITE[3])])],
        f"{SUITE[7]} is of the suite, and stands in no shard; measure them again",
    ),
    "a test in two shards": (
        lambda: [*all_of_them()[:3], measured(4, [a_test(n) for n in (*SUITE[3::4], SUITE[0])])],
        f"{SUITE[0]} stands in more than one shard;",
    ),
    "a test of another suite": (
        lambda: [*all_of_them()[:3], measured(4, [a_test(n) for n in (*SUITE[3::4], "x.py::x")])],
        "x.py::x stands in a shard, and is not of its suite;",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_not_one_suite_is_refused_in_one_sentence(name: str):
    shards, said = REFUSALS[name]
    with pytest.raises(UsageError) as caught:
        union(shards())
    (sentence,) = str(caught.value).splitlines()
    assert said in sentence
    assert sentence.endswith(".")


def test_interpreters_may_differ_in_the_last_part_of_their_version():
    assert union(with_fourth(fingerprint={**FACTS, "python": "3.11.9"})).exit_code == 6


def test_a_regression_is_told_by_the_result_of_all():
    slower = a_test(SUITE[3], verdict=SLOWER)
    shards = [*all_of_them()[:3], measured(4, [slower, a_test(SUITE[7])], exit_code=1)]
    merged = union(shards)
    assert merged.exit_code == 1
    assert [t.nodeid for t in merged.run.tests if t.outcome is Outcome.REGRESSED] == [SUITE[3]]


@pytest.mark.parametrize(("index", "count"), [(5, 4), (0, 4), (1, 10**9)])
def test_a_number_that_no_shard_has_is_damage(index: int, count: int, tmp_path: Path):
    content = run_as_dict(measured(1).run, 0)
    content["shard"] |= {"index": index, "count": count}
    (tmp_path / "shard.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match="is damaged at shard"):
        read_run(tmp_path / "shard.json")


def test_a_test_of_a_run_that_is_not_told_of_contradicts_the_result(tmp_path: Path):
    merged = union(all_of_them())
    content = run_as_dict(merged.run, 0)
    content["parts"] = content["parts"][:3]
    (tmp_path / "merged.json").write_text(json.dumps(content))
    said = rf"contradicts itself \({SUITE[3]} is of shard 4, which it does not tell of\)"
    with pytest.raises(UsageError, match=said):
        read_run(tmp_path / "merged.json")
