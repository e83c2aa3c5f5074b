"""Shards of a made-up suite, as their runs would have left them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.shard import Shard
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.shards.union import FinishedRun
from tests.factories import a_test, run_result

SUITE = tuple(f"test_a.py::test_{letter}" for letter in "abcdefgh")
FACTS: dict[str, Any] = {
    "cpu": "Some CPU",
    "implementation": "CPython",
    "python": "3.11.7",
    "libraries": {"pytest-rlperf": "1.0", "numpy": "2.4"},
}


def a_benchmark(nodeid: str, **fields: Any) -> Benchmark:
    return replace(Benchmark(nodeid, Spec(), "abc", f"pytest {nodeid}"), **fields)


def a_shard(index: int = 1, count: int = 4, **fields: Any) -> Shard:
    plain = Shard(
        index,
        count,
        suite=SUITE,
        verdicts=8,
        split="0123",
        rules={"--rlperf-threshold": "the default", "--rlperf-strict": "no"},
        asked=True,
    )
    return replace(plain, **fields)


def measured(
    index: int,
    tests: Sequence[TestResult] | None = None,
    *,
    count: int = 4,
    exit_code: int = 0,
    shard: Any = None,
    **fields: Any,
) -> FinishedRun:
    """The result of a shard; of its tests every `count`-th is its own."""
    own = [a_test(nodeid) for nodeid in SUITE[index - 1 :: count]] if tests is None else tests
    told = a_shard(index, count, **(shard or {}))
    run = run_result(*own, base_commit="b" * 40, fingerprint=FACTS, shard=told, **fields)
    return FinishedRun(Path(f"shard{index}.json"), run, exit_code)


def all_of_them(**fields: Any) -> list[FinishedRun]:
    return [measured(index, **fields) for index in (1, 2, 3, 4)]


def alone(
    *tests: TestResult, path: str = "full.json", exit_code: int = 0, **fields: Any
) -> FinishedRun:
    """The result of a run that is no shard."""
    run: RunResult = run_result(*tests, **{"fingerprint": FACTS, **fields})
    return FinishedRun(Path(path), run, exit_code)
