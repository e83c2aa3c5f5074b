"""The machine-readable result, schema 1 (`--rlperf-json`)."""

import json
import math
import statistics
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.verdict import Verdict
from pytest_rlperf.report.block_export import blocks_as_dicts
from pytest_rlperf.report.drift import drift_as_dict
from pytest_rlperf.report.evidence import device_used, witnesses
from pytest_rlperf.report.extras import extra_metric
from pytest_rlperf.report.kpis import kpis_as_dicts
from pytest_rlperf.report.memory_export import memory_as_dict, memory_metrics
from pytest_rlperf.report.metric_row import metric_row
from pytest_rlperf.report.phases import phases_as_dicts
from pytest_rlperf.report.proof import proof_as_dict
from pytest_rlperf.report.rank_facts import rank_facts
from pytest_rlperf.report.reference import reference_as_dict
from pytest_rlperf.report.scaling import scaling_as_dicts
from pytest_rlperf.report.why import explanation_as_dict
from pytest_rlperf.store.atomic import write_atomically
from pytest_rlperf.store.result_file import SCHEMA


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
