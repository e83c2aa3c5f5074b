"""`rlperf scale` as text: the terms, the jobs beside them, and what they say of more nodes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_rlperf.model.quantity import format_percent, format_time
from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.report.text import Rows, aligned
from pytest_rlperf.scale.jobs import (
    Ahead,
    Checked,
    Fit,
    Fitted,
    Network,
    ProjectedPoint,
    ProjectedRow,
    Projection,
)

MEASURED, MODELLED = "measured", "modelled"
NONE = "none"
ONE_TELLS = "one job alone tells it"
RATES = (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3))
AT_ZERO = "not told from none"
DOUBTFUL = 0.10
"""A model that misses measured jobs by more is told as doubtful."""


def render_fit(fit: Fit) -> list[str]:
    jobs = [["job", "ranks", "sync period", "measured", "modelled", "error", "left out"]]
    jobs += [_job(checked) for checked in fit.jobs]
    return [
        f"{len(fit.jobs)} measured jobs, exchanging by {fit.collective.value}",
        "",
        *aligned([["term", "fitted", "95 % interval"], *_terms(fit)]),
        "",
        *aligned(jobs),
        *_doubts(fit),
    ]


def _terms(fit: Fit) -> Iterator[list[str]]:
    for workload, step in fit.step_s.items():
        yield [f"computing a step, {workload}", _time(step.value), _interval(step, _time)]
    for workload, latency in fit.latency_s.items():
        yield [f"latency, {workload}", _time(latency.value), _interval(latency, _time)]
    # The other way round: the more time a byte takes, the fewer a second.
    byte, waiting = fit.byte_s, fit.waiting
    turned = Fitted(byte.value, byte.high, byte.low)
    yield ["bandwidth", _bandwidth(byte.value), _interval(turned, _bandwidth)]
    yield ["waiting at 2 ranks, of computing", _share(waiting.value), _interval(waiting, _share)]


def _interval(fitted: Fitted, written: Callable[[float], str]) -> str:
    if fitted.low is None or fitted.high is None:
        return ONE_TELLS
    if fitted.value == fitted.low == fitted.high == 0:
        return AT_ZERO  # it is there in every fit, so how far it moves says nothing
    return f"{written(fitted.low)} to {written(fitted.high)}"


def _time(seconds: float) -> str:
    return format_time(seconds * 1e9) if seconds > 0 else "0"


def _share(share: float) -> str:
    return format_percent(share, signed=False)


def _bandwidth(byte_s: float) -> str:
    if byte_s <= 0:
        return "no limit seen"
    rate = 1 / byte_s
    unit, size = next((u for u in RATES if rate >= 0.9995 * u[1]), RATES[-1])
    return f"{rate / size:.3g} {unit}"


def _job(checked: Checked) -> list[str]:
    job = checked.job
    return [
        job.name,
        str(job.ranks),
        f"{job.period:,.0f}" if job.exchanged else "",
        _time(job.seconds),
        _time(job.seconds * (1 + checked.error)),
        format_percent(checked.error),
        "" if checked.left_out is None else format_percent(checked.left_out),
    ]


def _doubts(fit: Fit) -> list[str]:
    errors = [each.error if each.left_out is None else each.left_out for each in fit.jobs]
    worst = max(map(abs, errors))
    if worst <= DOUBTFUL:
        return []
    return [
        "",
        f"note: the model misses measured jobs by up to {_share(worst)}: "
        "take no projection for more exact than that.",
    ]


def render_projection(found: Projection, published: Mapping[int, float]) -> list[str]:
    return ["", *_titles(found), *aligned(_table(found, published))]


def _titles(found: Projection) -> Iterator[str]:
    plan = found.plan
    whose = "in all" if plan.scaling is Scaling.STRONG else "on each node"
    yield f"{plan.scaling.value} scaling of {found.workload}: {plan.steps:,} steps {whose},"
    yield f"synchronised every {plan.period:,.0f} steps of a node, one rank a node"


def _table(found: Projection, published: Mapping[int, float]) -> Rows:
    held = "" if found.target is None else f"{100 * found.target:g} % from a period of"
    titles = [
        "nodes",
        "",
        "steps",
        "time",
        "speed-up",
        "efficiency",
        "at least",
        "most lost by (of the time)",
    ]
    titles += [held, "published"]
    return [
        titles,
        *([*_measured(point), _published(published, point.nodes)] for point in found.measured),
        *([*_modelled(row, found.target), _published(published, row.nodes)] for row in found.rows),
    ]


def _measured(point: ProjectedPoint) -> list[str]:
    return [*_figures(point), "", "", ""]


def _modelled(row: ProjectedRow, target: float | None) -> list[str]:
    point = row.expected.point
    return [
        *_figures(point),
        "" if row.at_least is None else _share(row.at_least.point.efficiency),
        _limit(point),
        "" if target is None else _held(row),
    ]


def _figures(point: ProjectedPoint) -> list[str]:
    return [
        str(point.nodes),
        MODELLED if point.modelled else MEASURED,
        f"{point.steps:,.0f}",
        _time(point.seconds),
        f"{point.speedup:.3g}",
        _share(point.efficiency),
    ]


def _limit(point: ProjectedPoint) -> str:
    worst = point.limit
    if worst is None:
        return "nothing"
    return f"{worst.value} ({_share(point.parts[worst] / point.seconds)})"


def _held(row: ProjectedRow) -> str:
    """The second one has the fitted exchange on top."""
    told = [row.expected] if row.at_least is None else [row.expected, row.at_least]
    return " to ".join(dict.fromkeys(map(_period, told)))


def _period(ahead: Ahead) -> str:
    return NONE if ahead.period is None else f"{ahead.period:,}"


def _published(published: Mapping[int, float], nodes: int) -> str:
    return _share(published[nodes]) if nodes in published else ""


def render_notes(found: Sequence[Projection]) -> list[str]:
    rows = [row for each in found for row in each.rows]
    notes = []
    if any(row.at_least is not None for row in rows):
        notes.append(
            "at least: with the fitted exchange on top of the stated network, since part of what "
            "was fitted is packing and merging, which no network does away with."
        )
    if any(each.target is not None and NONE in _held(row) for each in found for row in each.rows):
        notes.append(
            "none: not even with one exchange at the end. Beyond the longest measured period a "
            "rank is taken to send in proportion to its steps; a job of a longer one tells better."
        )
    return ["", *(f"note: {note}" for note in notes)] if notes else []


# `rlperf scale` as data.


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
        "jobs": [_job_as_dict(checked) for checked in fit.jobs],
        "projections": [_projection(each, published) for each in found],
    }


def _job_as_dict(checked: Checked) -> dict[str, Any]:
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


def _point(point: ProjectedPoint) -> dict[str, Any]:
    return {
        "nodes": point.nodes,
        "steps": point.steps,
        "seconds": point.seconds,
        "speedup": point.speedup,
        "efficiency": point.efficiency,
        "parts": {part.value: seconds for part, seconds in point.parts.items()},
        "limit": point.limit,
    }
