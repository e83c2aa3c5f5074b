"""The seconds by which a suite is shared out: from what all shards have, and from nothing else."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_rlperf.baselines.file import write_module
from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.memory import Limits
from pytest_rlperf.options import Settings
from pytest_rlperf.report.result_file import run_as_dict, write_json
from pytest_rlperf.shards.run import known_seconds, rules_of
from tests.factories import a_session, a_stored, a_test, block, run_result
from tests.shards.suites import SUITE, a_benchmark
from tests.trees.repositories import commit, new_repository

A, B, C = SUITE[:3]
MODULE = "baselines/{machine}/{name}/test_a.json"


def settings(root: Path, **fields: Any) -> Settings:
    plain: dict[str, Any] = {
        "baselines": root / "baselines",
        "baseline": None,
        "save": None,
        "shard_by": None,
        "threshold": None,
        "strict": False,
        "judge_foreign": False,
        "skip_same_code": True,
        "limits": Limits(),
    }
    return cast(Settings, SimpleNamespace(**plain | fields))


def seconds(root: Path, **fields: Any) -> dict[str, float]:
    return known_seconds(settings(root, **fields), root, [a_benchmark(n) for n in SUITE])


def store(root: Path, calls_ns: dict[str, float], machine: str = "m", name: str = "main") -> None:
    tests = [a_stored(n, sessions=(a_session(call_ns=ns),)) for n, ns in calls_ns.items()]
    write_module(root / MODULE.format(machine=machine, name=name), "test_a.py", tests)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo", {"lib.py": ""})


def test_a_result_that_is_named_tells_what_its_tests_took(tmp_path: Path):
    blocks = (block([500], [400]),) * 2
    run = run_result(
        a_test(A, blocks=blocks, cost=Spending(scouting=1.0, slices=2.5)),
        a_test(B, cost=Spending(scouting=1.0)),  # it ran the same code, or was not reached
        a_test(C, blocks=blocks),  # of an older version
    )
    write_json(tmp_path / "earlier.json", run_as_dict(run, 0))
    assert seconds(tmp_path, shard_by=tmp_path / "earlier.json") == {A: 3.5}


def test_a_file_that_is_no_result_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"earlier\.json does not exist"):
        seconds(tmp_path, shard_by=tmp_path / "earlier.json")


def test_the_baselines_of_the_commit_tell_which_tests_are_long(root: Path):
    store(root, {A: 1e3, B: 5e8, "gone.py::gone": 1e9})
    commit(root, {})
    found = seconds(root)
    assert found.keys() == {A, B}
    assert found[B] > 5 * found[A] > 0


def test_what_one_machine_saved_since_does_not_count(root: Path):
    store(root, {A: 1e8})
    commit(root, {})
    before = seconds(root)
    store(root, {A: 1e3, B: 1e3})
    assert seconds(root) == before


def test_baselines_of_all_machines_count_on_each_of_them(root: Path):
    for machine, call_ns in (("slow", 4e8), ("fast", 1e8), ("middle", 2e8)):
        store(root, {A: call_ns}, machine)
    commit(root, {})
    middle = seconds(root)
    for machine in ("slow", "fast"):
        store(root, {A: 2e8}, machine)
    commit(root, {})
    assert seconds(root) == middle


def test_baselines_of_another_name_are_not_asked(root: Path):
    store(root, {A: 1e8}, name="before")
    commit(root, {})
    assert seconds(root) == {}
    assert seconds(root, baseline="before").keys() == {A}


def test_a_damaged_baseline_tells_nothing_here(root: Path):
    store(root, {A: 1e8})
    commit(root, {MODULE.format(machine="n", name="main"): "{"})
    assert seconds(root).keys() == {A}


def test_where_nothing_is_committed_nothing_is_known(root: Path, tmp_path: Path):
    assert seconds(root) == {}
    store(tmp_path, {A: 1e8})
    assert seconds(tmp_path) == {}
    assert seconds(root, baselines=tmp_path / "baselines") == {}


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("threshold", 0.1, "--rlperf-threshold"),
        ("strict", True, "--rlperf-strict"),
        ("skip_same_code", False, "--rlperf-same-code"),
        ("judge_foreign", True, "--rlperf-foreign"),
        ("baseline", "before", "--rlperf-baseline"),
        ("save", "main", "--rlperf-save"),
        ("limits", replace(Limits(), growth=1.0), "limit of memory, growth"),
    ],
)
def test_every_option_that_decides_verdicts_is_told(
    field: str, value: object, name: str, tmp_path: Path
):
    usual, other = rules_of(settings(tmp_path)), rules_of(settings(tmp_path, **{field: value}))
    assert {key for key in usual if usual[key] != other[key]} == {name}
