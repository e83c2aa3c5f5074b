"""The machine-readable result, schema 1 (`--rlperf-json`)."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import NoneType
from typing import Any

from pytest_rlperf.baselines.levels import kernel_ratios
from pytest_rlperf.files import (
    NUMBER,
    Shape,
    check_schema,
    check_shape,
    misfits,
    read_json,
    refuse,
    write_atomically,
)
from pytest_rlperf.memory.report import memory_as_dict, memory_metrics
from pytest_rlperf.metrics.within_run import drift_as_dict, phases_as_dicts
from pytest_rlperf.model.block import LEAST_BLOCKS, Block, SideBlock
from pytest_rlperf.model.metric import Verdict
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.mpi.report import rank_facts
from pytest_rlperf.mpi.scaling import scaling_as_dicts
from pytest_rlperf.profile.report import explanation_as_dict
from pytest_rlperf.prove.report import proof_as_dict
from pytest_rlperf.report.evidence import device_used, witnesses
from pytest_rlperf.report.kpis import kpis_as_dicts
from pytest_rlperf.report.metrics import extra_metric, metric_row
from pytest_rlperf.stats.estimate import estimate
from pytest_rlperf.worker.kernels import EDITION

SCHEMA = 1
"""Of the result. 1: first version."""

TOP: Shape = {"mode": (str,), "created": (str,), "fingerprint": (dict,), "tests": (list,)}
TEST_SHAPE: Shape = {"nodeid": (str,), "category": (str, NoneType), "metrics": (list,)}
METRIC_SHAPE: Shape = {
    **dict.fromkeys(("name", "direction", "outcome"), (str,)),
    "unit": (str, NoneType),
    **dict.fromkeys(("value", "base_value", "change", "low", "high"), (*NUMBER, NoneType)),
    **dict.fromkeys(("head_blocks", "base_blocks"), (list,)),
}
"""What readers may rely on: fields of these types, absent only where they may be null."""

RATIOED = frozenset({"time", "throughput"})
"""Metrics that take part in ratios, so that they must be above zero; sizes need not."""

ANEW = "write it with pytest --rlperf --rlperf-json=FILE"


def read_result(path: Path) -> dict[str, Any]:
    """The result in `path`, checked."""
    content = read_json(path, ANEW)
    if not isinstance(content, dict) or "schema" not in content:
        refuse(path, "is no result of this plugin", "name a file that --rlperf-json wrote")
    check_schema(path, content, SCHEMA, ANEW)
    check_shape(path, _damages(content), ANEW)
    return content


def _damages(result: dict[str, Any]) -> Iterator[str]:
    """Where the content has not the shape of the schema; only the first counts."""
    yield from misfits(result, TOP, "")
    for i, test in enumerate(result["tests"]):
        yield from misfits(test, TEST_SHAPE, f"tests[{i}]")
        for k, metric in enumerate(test["metrics"]):
            where = f"tests[{i}].metrics[{k}]"
            yield from misfits(metric, METRIC_SHAPE, where)
            fits = _is_positive if metric["name"] in RATIOED else _is_number
            for name in ("head_blocks", "base_blocks"):
                if not all(map(fits, metric[name])):
                    yield f"{where}.{name}"


def _is_number(value: object) -> bool:
    return type(value) in NUMBER


def _is_positive(value: object) -> bool:
    return type(value) in NUMBER and value > 0  # type: ignore[operator]


# What the keys of the machine-readable result mean; a test holds this against real results.


RUN: Mapping[str, str] = {
    "schema": "version of this format",
    "mode": "`against` a revision, `stored` baseline, `save` or `prove`",
    "against": "what was compared with, in words; null: nothing",
    "base_commit": "hash of the base revision; null: there is none",
    "commit": "hash of the commit that was measured",
    "dirty": "whether there were uncommitted changes",
    "created": "when, with the time zone",
    "seconds": "how long the run took",
    "interrupted": "whether it was cut short by Ctrl+C",
    "fingerprint": "facts about machine, Python and libraries",
    "tests": "the tests, see below",
    "kpis": "limits in absolute terms, each with its reading and status",
    "scaling": "tables of MPI tests over the number of ranks",
    "vanished": "tests that have a baseline and are gone, with their new name where it is known",
    "summary": "number of tests by outcome",
    "exit_code": "that of the run",
    "proof": "of a run with --rlperf-prove: how often the gate was wrong",
}

TEST: Mapping[str, str] = {
    "nodeid": "its name, as pytest has it",
    "category": "as the marker says",
    "metadata": "as the marker says",
    "outcome": "the worst of its metrics' outcomes, or `failed` or `skipped`",
    "failure": "why it failed for another reason than its speed",
    "skipped": "why it was skipped",
    "steps": "steps in one call",
    "source_hash": "of the text of the test",
    "work": "counts that both sides had to agree on",
    "witnesses": "CPU time, steal and preemptions while it was measured",
    "device": "of arrays that are computed after the call: where, and how busy it was; else null",
    "repeat_command": "measures this test again",
    "first_call_ns": "the first call of a process, with compiling and cold caches",
    "plan": "how it was measured: mode, calls a slice, pairs a block, warm-up",
    "blocks": "sums of each block, a process of each side",
    "ranks": "of an MPI test: times, imbalance, communication and memory by rank",
    "drift": "whether slices get slower as a block goes on",
    "reference": "time over every reference kernel, in logarithms",
    "phases": "named parts of a call, with what each adds to the change",
    "imported": "the files that each side imported its packages from",
    "memory": "what lies behind the metrics of memory",
    "metrics": "what was judged or shown, see below",
    "profile": "of a test that was profiled: the functions that account for the change",
}

METRIC: Mapping[str, str] = {
    "name": "`time`, `throughput`, `exponent`, `import_time`, `first_call` or one of memory",
    "unit": "of `value`, `base_value` and the blocks",
    "direction": "which is better, `lower` or `higher`",
    "value": "head's, the median over the blocks",
    "base_value": "the base's; against a stored baseline head's, divided by the change",
    "outcome": "the verdict",
    "change": "a fraction, positive means worse; null: not compared",
    "low": "lower end of its 95 % interval",
    "high": "upper end",
    "change_abs": "the change in the metric's unit, where that is judged too",
    "low_abs": "lower end of its interval",
    "high_abs": "upper end",
    "threshold": "allowed change, a fraction",
    "threshold_abs": "allowed change in the metric's unit",
    "detectable": "smallest true change that this run would have called regressed",
    "severity": "of a regression: `notice`, `medium` or `high`",
    "blocks": "number of blocks",
    "head_blocks": "head's value in each",
    "base_blocks": "the base's value in each; empty against a stored baseline",
    "label": "how the number came about, where that is not the usual way",
    "reason": "the verdict in words",
    "curve": "of an exponent: the sizes and times it was fitted to",
    "block_changes": "of time and throughput: the change in each block, as judged",
}


# The blocks of a test in the machine-readable result: the sums over their slices.


def blocks_as_dicts(test: TestResult) -> list[dict[str, Any]]:
    return [_as_dict(block) for block in test.blocks]


def _as_dict(block: Block) -> dict[str, Any]:
    return {
        "index": block.index,
        "core": block.core,
        "steal": block.steal,
        "head": _side(block.head),
        "base": None if block.base is None else _side(block.base),
    }


def _side(side: SideBlock) -> dict[str, Any]:
    """Times are those of all slices together."""
    ranks = {} if side.ranks is None else {"ranks": asdict(side.ranks)}
    device = {} if side.device is None else {"device": asdict(side.device)}
    return {
        "slices": len(side.own_ns),
        "calls": side.calls,
        "own_ns": sum(side.own_ns),
        "wall_ns": sum(side.wall_ns),
        "cpu_ns": sum(side.cpu_ns),
        "preempted": side.preempted,
        **ranks,
        **device,
    }


# A test's time in the reference kernels, as data.


def reference_as_dict(test: TestResult) -> dict[str, Any] | None:
    """Over every kernel that played, not its own unit alone: that may be chosen anew one day. None:
    no kernel played, or in too few blocks.
    """
    played = [kernel_ratios(block) for block in test.blocks if block.reference is not None]
    if len(played) < LEAST_BLOCKS:
        return None
    ratios = {
        name: round(estimate([block[name].typical for block in played]).mean, 6)
        for name in played[0]
    }
    return {"edition": EDITION, "log_ratios": ratios, "weights": dict(test.unit)}


def run_as_dict(run: RunResult, exit_code: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "mode": run.mode,
        "against": run.against,
        "base_commit": run.base_commit,
        "commit": run.commit,
        "dirty": run.dirty,
        "created": run.created,
        "seconds": round(run.seconds, 3),
        "interrupted": run.interrupted,
        "fingerprint": dict(run.fingerprint),
        "tests": [_test(test) for test in run.tests],
        "kpis": kpis_as_dicts(run.kpis),
        "scaling": scaling_as_dicts(run),
        "vanished": [asdict(test) for test in run.vanished],
        "summary": dict(Counter(test.outcome.value for test in run.tests)),
        "exit_code": exit_code,
        **({} if run.proof is None else {"proof": proof_as_dict(run.proof)}),
    }


def _test(test: TestResult) -> dict[str, Any]:
    return {
        "nodeid": test.nodeid,
        "category": test.spec.category,
        "metadata": dict(test.spec.metadata),
        "outcome": test.outcome.value,
        "failure": None if test.failure is None else asdict(test.failure),
        "skipped": test.skipped,
        "steps": test.steps,
        "source_hash": test.source_hash,
        "work": dict(test.blocks[-1].head.work) if test.blocks else {},
        "witnesses": witnesses(test),
        "device": None if (device := device_used(test)) is None else asdict(device),
        "repeat_command": test.repeat_command,
        "first_call_ns": test.first_call_ns,
        "plan": test.plan.as_dict() if test.plan else None,
        "blocks": blocks_as_dicts(test),
        "ranks": rank_facts(test),
        "drift": drift_as_dict(test.drift),
        "reference": reference_as_dict(test),
        "phases": phases_as_dicts(test),
        "imported": {side: dict(files) for side, files in test.imported.items()},
        "memory": memory_as_dict(test.memory),
        "metrics": [
            *(_metrics(test) if test.timed else ()),
            *memory_metrics(test.memory),
            *map(extra_metric, test.extras),
        ],
        **({} if test.explanation is None else {"profile": explanation_as_dict(test.explanation)}),
    }


def _metrics(test: TestResult) -> list[dict[str, Any]]:
    head = [block.head.call_ns for block in test.blocks]
    base = [block.base.call_ns for block in test.blocks if block.base is not None]
    # What the interval rests on: by pairs, or by the sums where the label says so.
    changes = [math.expm1(ratio) for ratio in test.log_ratios]
    time = _metric("time", "ns", "lower", test.verdict, head, base, changes)
    if test.steps is None:
        return [time]
    steps = test.steps
    rates = [[steps * 1e9 / ns for ns in side] for side in (head, base)]
    return [
        time,
        _metric("throughput", "steps/s", "higher", test.verdict, rates[0], rates[1], changes),
    ]


def _metric(
    name: str,
    unit: str,
    direction: str,
    verdict: Verdict,
    head: list[float],
    base: list[float],
    changes: list[float],
) -> dict[str, Any]:
    interval = verdict.interval
    value = statistics.median(head) if head else None
    base_value = statistics.median(base) if base else None
    if value is not None and not base and interval is not None:
        # A stored baseline holds no seconds: what it would have taken now.
        worse = 1 + interval.change
        base_value = value / worse if direction == "lower" else value * worse
    row = metric_row(
        name,
        unit,
        verdict,
        value=value,
        base_value=base_value,
        head=head,
        base=base,
        direction=direction,
        label=verdict.label,
    )
    return {**row, "block_changes": changes}


def write_json(path: Path, content: dict[str, Any]) -> None:
    write_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
