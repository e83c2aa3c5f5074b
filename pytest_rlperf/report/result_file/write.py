"""The result as it is written: every dictionary of the format, in the order of its keys."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_rlperf.files import write_atomically
from pytest_rlperf.model.block import Block, Drift, PhaseResult, SideBlock, SideDrift, Spending
from pytest_rlperf.model.kpi import KpiResult
from pytest_rlperf.model.memory import MemoryResult
from pytest_rlperf.model.metric import Interval, Metric, MetricFamily, Outcome
from pytest_rlperf.model.profile import Cause, Edit, Explanation, Lines, Source
from pytest_rlperf.model.result import (
    Figures,
    Part,
    Proof,
    RunResult,
    ScalingRow,
    ScalingTable,
    TestResult,
    Trial,
)
from pytest_rlperf.mpi.report import rank_summary
from pytest_rlperf.prove.rates import expectation
from pytest_rlperf.report.evidence import device_used, witnesses
from pytest_rlperf.report.result_file.read import SCHEMA, ResultContent
from pytest_rlperf.wire import plain

Row = dict[str, Any]


def write_json(path: Path, content: ResultContent) -> None:
    write_atomically(path, result_text(content))


def result_text(content: ResultContent) -> str:
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


# -- runs ---------------------------------------------------------------------------------------


def run_as_dict(run: RunResult, exit_code: int) -> Row:
    return {
        "schema": SCHEMA,
        "mode": run.mode,
        "against": run.against,
        "base_commit": run.base_commit,
        "commit": run.commit,
        "dirty": run.dirty,
        "created": run.created,
        "seconds": round(run.seconds, 3),
        "budget_seconds": run.budget_s,
        "needed_seconds": run.needed_s,
        "cost": _cost(run.cost),
        "interrupted": run.interrupted,
        "fingerprint": dict(run.fingerprint),
        "code_changes": plain(run.code_changes),
        "environments": plain(run.environments),
        "tests": [_test(test) for test in run.tests],
        "kpis": [_kpi(result) for result in run.kpis],
        "scaling": [_scaling_table(table) for table in run.scaling],
        "vanished": plain(run.vanished),
        "summary": dict(Counter(test.outcome.value for test in run.tests)),
        "exit_code": exit_code,
        "shard": plain(run.shard),
        "parts": [_part(part) for part in run.parts],
        **({} if run.proof is None else {"proof": _proof(run.proof)}),
    }


def _cost(cost: Spending | None) -> dict[str, float] | None:
    return None if cost is None else {part: round(s, 3) for part, s in asdict(cost).items()}


def _part(part: Part) -> Row:
    return {**asdict(part), "seconds": round(part.seconds, 3)}


def _kpi(result: KpiResult) -> Row:
    """Return a KPI with its reading; what was not measured is null."""
    kpi, reading = result.kpi, result.reading
    return {
        "name": kpi.name,
        "nodeid": result.nodeid,
        "metric": kpi.metric.value,
        "unit": kpi.unit,
        "direction": kpi.direction.value,
        "target": kpi.target,
        "alert": kpi.alert,
        "value": reading.value if reading else None,
        "low": reading.low if reading else None,
        "high": reading.high if reading else None,
        "blocks": reading.blocks if reading else 0,
        "status": result.status.value,
        "reason": result.reason,
    }


def _scaling_table(table: ScalingTable) -> Row:
    return {
        "test": table.test,
        "scaling": table.scaling.value,
        "rows": [_scaling_row(row) for row in table.rows],
    }


def _scaling_row(row: ScalingRow) -> Row:
    v = None if row.efficiency.outcome is Outcome.SHOWN else row.efficiency.verdict
    return {
        "nodeid": row.nodeid,
        "nprocs": row.size.nprocs,
        "time_ns": row.time_ns,
        "speedup": row.speedup,
        "efficiency": row.efficiency.value,
        "throughput": row.throughput,
        "unit": row.unit,
        "oversubscribed": row.size.oversubscribed,
        "gated": row.size.gated,
        "outcome": v.outcome.value if v else None,
        **_interval(v.interval if v else None),
        "threshold": v.threshold if v else None,
        "severity": v.severity.value if v and v.severity else None,
        "reason": v.reason if v else None,
    }


# -- tests --------------------------------------------------------------------------------------


def _test(test: TestResult) -> Row:
    why = test.explanation
    return {
        "nodeid": test.nodeid,
        "part": test.part,
        "category": test.spec.category,
        "metadata": dict(test.spec.metadata),
        "outcome": test.outcome.value,
        "failure": plain(test.failure),
        "skipped": test.skipped,
        "steps": test.steps,
        "source_hash": test.source_hash,
        "work": dict(test.blocks[-1].head.work) if test.blocks else {},
        "witnesses": witnesses(test),
        "device": plain(device_used(test)),
        "repeat_command": test.repeat_command,
        "first_call_ns": test.first_call_ns,
        "plan": plain(test.plan),
        "blocks": [_block(block) for block in test.blocks],
        "ranks": plain(rank_summary(test)),
        "drift": None if test.drift is None else _drift(test.drift),
        "reference": plain(test.reference),
        "phases": [_phase(phase) for phase in test.phases],
        "imported": plain(test.imported),
        "differences": list(test.differences),
        "memory": None if test.memory is None else _memory(test.memory),
        **({} if test.learning is None else {"learning": plain(test.learning)}),
        "cost": _cost(test.cost),
        "metrics": [_metric(metric) for metric in test.metrics],
        **({} if why is None else {"profile": _explanation(why)}),
    }


def _metric(metric: Metric) -> Row:
    v = metric.verdict
    row = {
        "name": metric.name,
        "unit": metric.unit,
        "direction": metric.direction.value,
        "value": metric.value,
        "base_value": metric.base_value,
        "outcome": v.outcome.value,
        **_interval(v.interval),
        **_interval(metric.amount, "_abs"),
        "threshold": v.threshold,
        "threshold_abs": metric.threshold_abs,
        "detectable": v.detectable,
        "severity": v.severity.value if v.severity else None,
        "blocks": len(metric.head),
        "head_blocks": list(metric.head),
        "base_blocks": list(metric.base),
        "label": v.label,
        "reason": v.reason,
    }
    match metric.family:
        case MetricFamily.TIME:
            return {**row, "block_changes": list(metric.block_changes)}
        case MetricFamily.GROWTH | MetricFamily.START:
            return {**row, "curve": plain(metric.curve)}
        case MetricFamily.MEMORY | MetricFamily.SCALING | MetricFamily.LEARNING:
            return row


def _interval(interval: Interval | None, ending: str = "") -> Row:
    """Return the three numbers, null where nothing was compared."""
    names = ("change", "low", "high")
    return {f"{name}{ending}": getattr(interval, name) if interval else None for name in names}


def _block(block: Block) -> Row:
    return {
        "index": block.index,
        "core": block.core,
        "steal": block.steal,
        "head": _side(block.head),
        "base": None if block.base is None else _side(block.base),
    }


def _side(side: SideBlock) -> Row:
    """Return the sums over the slices of a side."""
    ranks = {} if side.ranks is None else {"ranks": plain(side.ranks)}
    device = {} if side.device is None else {"device": plain(side.device)}
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


def _drift(drift: Drift) -> Row:
    return {
        "slices": drift.slices,
        "head": _side_drift(drift.head),
        "base": None if drift.base is None else _side_drift(drift.base),
    }


def _side_drift(side: SideDrift) -> Row:
    return {**_interval(side.change), "matters": side.matters}


def _phase(phase: PhaseResult) -> Row:
    row = asdict(phase)
    del row["adds"]
    return {**row, **_interval(phase.adds)}


def _memory(memory: MemoryResult) -> Row:
    return {
        "repeats": memory.repeats,
        "trouble": memory.trouble.reason if memory.trouble else None,
        "trouble_outcome": memory.trouble.outcome.value if memory.trouble else None,
        "head": plain(memory.head),
        "base": plain(memory.base),
    }


# -- profiles -----------------------------------------------------------------------------------


def _explanation(explanation: Explanation) -> Row:
    return {
        "pairs": explanation.pairs,
        "change": explanation.change,
        "computing": explanation.computing,
        "note": explanation.note,
        "flame_graph": None if explanation.graph is None else str(explanation.graph),
        "functions": [_cause(cause) for cause in explanation.causes],
        "edits": [_edit(edit) for edit in explanation.edits],
        "sole": explanation.sole,
        "lines": None if explanation.lines is None else _lines(explanation.lines),
        "operators": plain(explanation.operators),
    }


def _cause(cause: Cause) -> Row:
    return {
        "file": cause.function.file,
        "function": cause.function.name,
        "share": cause.share,
        "change_ns": cause.change_ns,
        "calls": plain(cause.calls),
        "time_ratio": cause.time_ratio,
        "callees": plain(dict(cause.callees)),
        "source_changed": {Source.CHANGED: True, Source.SAME: False}.get(cause.source),
        "compiled": cause.compiled,
        "inlined": [str(function) for function in cause.inlined],
        "at": None if cause.at is None else cause.at._asdict(),
    }


def _edit(edit: Edit) -> Row:
    return {
        "file": edit.function.file,
        "function": edit.function.name,
        "at": None if edit.at is None else edit.at._asdict(),
        "diff": list(edit.diff),
    }


def _lines(lines: Lines) -> Row:
    return {
        "function": lines.function,
        "lines": [
            {
                "line": line.number,
                "text": line.text,
                "hits": line.hits,
                "base_ns": line.base_ns,
                "head_ns": line.head_ns,
            }
            for line in lines.lines
        ],
    }


# -- the proof of the gate ----------------------------------------------------------------------


def _proof(proof: Proof) -> Row:
    """Return the section of the result; shares and changes are fractions."""
    return {
        "cases": [_figures(figures) for figures in proof.cases],
        "tests": {n: [_figures(f) for f in figures] for n, figures in proof.tests.items()},
        "goals": plain(proof.goals),
        "false_alarms": [_trial(trial) for trial in proof.false_alarms],
        "missed": [_trial(trial) for trial in proof.missed],
        "uncounted": dict(proof.uncounted),
        "added": proof.added,
        "left_out": proof.left_out,
    }


def _figures(figures: Figures) -> Row:
    return {
        "injected": figures.injected,
        "threshold": figures.threshold,
        "expected": expectation(figures.injected, figures.threshold).value,
        "n": figures.n,
        "slower": figures.slower.hits,
        "slower_low": figures.slower.low,
        "slower_high": figures.slower.high,
        "faster": figures.faster,
        "inconclusive": figures.inconclusive,
        "covered": figures.covered.hits,
        "covered_low": figures.covered.low,
        "covered_high": figures.covered.high,
        "mean_change": figures.mean_change,
        "sd_change": figures.sd_change,
        "mean_seconds": figures.mean_seconds,
    }


def _trial(trial: Trial) -> Row:
    return {
        "nodeid": trial.nodeid,
        "injected": trial.injected,
        "outcome": trial.outcome.value,
        **_interval(trial.interval),
        "blocks": trial.blocks,
        "created": trial.created,
    }
