"""`rlperf scale` as data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_rlperf.model.projection import Ahead, Checked, Fit, Network, Point, Projection

SCHEMA = 1
"""Of `rlperf scale --json`. 1: first version."""


def scale_as_dict(
    fit: Fit, stated: Network | None, found: Sequence[Projection], published: Mapping[int, float]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "collective": fit.collective.value,
        "terms": {
            "step_s": {workload: asdict(step) for workload, step in fit.step_s.items()},
            "latency_s": {workload: asdict(each) for workload, each in fit.latency_s.items()},
            "byte_s": asdict(fit.byte_s),
            "waiting": asdict(fit.waiting),
        },
        "stated": None if stated is None else asdict(stated),
        "jobs": [_job(checked) for checked in fit.jobs],
        "projections": [_projection(each, published) for each in found],
    }


def _job(checked: Checked) -> dict[str, Any]:
    return {**asdict(checked.job), "error": checked.error, "left_out": checked.left_out}


def _projection(found: Projection, published: Mapping[int, float]) -> dict[str, Any]:
    return {
        "workload": found.workload,
        "scaling": found.plan.scaling.value,
        "steps": found.plan.steps,
        "sync_period": found.plan.period,
        "target": found.target,
        "measured": [_point(point) for point in found.measured],
        "modelled": [
            {
                **_ahead(row.expected),
                "at_least": None if row.at_least is None else _ahead(row.at_least),
                "published": published.get(row.nodes),
            }
            for row in found.rows
        ],
    }


def _ahead(ahead: Ahead) -> dict[str, Any]:
    return {**_point(ahead.point), "target_sync_period": ahead.period}


def _point(point: Point) -> dict[str, Any]:
    return {
        "nodes": point.nodes,
        "steps": point.steps,
        "seconds": point.seconds,
        "speedup": point.speedup,
        "efficiency": point.efficiency,
        "parts": {part.value: seconds for part, seconds in point.parts.items()},
        "limit": point.limit,
    }
