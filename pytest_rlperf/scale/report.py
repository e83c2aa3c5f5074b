"""`rlperf scale` as text, as data and as a figure.

All three show the terms, the jobs beside them, and what they say of more nodes.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_rlperf.model.quantity import format_percent, format_time
from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.report.text import Rows, aligned
from pytest_rlperf.scale.jobs import (
    CheckedJob,
    Fit,
    FittedTerm,
    Forecast,
    Network,
    ProjectedPoint,
    ProjectedRow,
    Projection,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    turned = FittedTerm(byte.value, byte.high, byte.low)
    yield ["bandwidth", _bandwidth(byte.value), _interval(turned, _bandwidth)]
    yield ["waiting at 2 ranks, of computing", _share(waiting.value), _interval(waiting, _share)]


def _interval(fitted: FittedTerm, written: Callable[[float], str]) -> str:
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


def _job(checked: CheckedJob) -> list[str]:
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


def render_projection(projection: Projection, published: Mapping[int, float]) -> list[str]:
    return ["", *_titles(projection), *aligned(_table(projection, published))]


def _titles(projection: Projection) -> Iterator[str]:
    plan = projection.plan
    whose = "in all" if plan.scaling is Scaling.STRONG else "on each node"
    yield f"{plan.scaling.value} scaling of {projection.workload}: {plan.steps:,} steps {whose},"
    yield f"synchronised every {plan.period:,.0f} steps of a node, one rank a node"


def _table(projection: Projection, published: Mapping[int, float]) -> Rows:
    target = projection.target
    held = "" if target is None else f"{100 * target:g} % from a period of"
    titles = [
        "nodes", "", "steps", "time", "speed-up", "efficiency", "at least",
        "most lost by (of the time)", held, "published",
    ]  # fmt: skip
    measured = [
        [*_figures(point), "", "", "", _beside(published, point.nodes)]
        for point in projection.measured
    ]
    modelled = [[*_modelled(row, target), _beside(published, row.nodes)] for row in projection.rows]
    return [titles, *measured, *modelled]


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
    """Write the period from which the target holds, and the one with the fitted exchange on top."""
    forecasts = [row.expected] if row.at_least is None else [row.expected, row.at_least]
    return " to ".join(dict.fromkeys(map(_period, forecasts)))


def _period(forecast: Forecast) -> str:
    return NONE if forecast.period is None else f"{forecast.period:,}"


def _beside(published: Mapping[int, float], nodes: int) -> str:
    return _share(published[nodes]) if nodes in published else ""


def render_notes(projections: Sequence[Projection]) -> list[str]:
    rows = [row for projection in projections for row in projection.rows]
    notes = []
    if any(row.at_least is not None for row in rows):
        notes.append(
            "at least: with the fitted exchange on top of the stated network, since part of what "
            "was fitted is packing and merging, which no network does away with."
        )
    targeted = [row for each in projections if each.target is not None for row in each.rows]
    if any(NONE in _held(row) for row in targeted):
        notes.append(
            "none: not even with one exchange at the end. Beyond the longest measured period a "
            "rank is taken to send in proportion to its steps; a job of a longer one tells better."
        )
    return ["", *(f"note: {note}" for note in notes)] if notes else []


# -- as data ------------------------------------------------------------------------------------

SCHEMA = 1
"""Of `rlperf scale --json`. 1: first version."""


def scale_as_dict(
    fit: Fit,
    stated: Network | None,
    projections: Sequence[Projection],
    published: Mapping[int, float],
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
        "jobs": [
            {**asdict(checked.job), "error": checked.error, "left_out": checked.left_out}
            for checked in fit.jobs
        ],
        "projections": [_projection_as_dict(each, published) for each in projections],
    }


def _projection_as_dict(projection: Projection, published: Mapping[int, float]) -> dict[str, Any]:
    return {
        "workload": projection.workload,
        "scaling": projection.plan.scaling.value,
        "steps": projection.plan.steps,
        "sync_period": projection.plan.period,
        "target": projection.target,
        "measured": [_point_as_dict(point) for point in projection.measured],
        "modelled": [
            {
                **_forecast_as_dict(row.expected),
                "at_least": None if row.at_least is None else _forecast_as_dict(row.at_least),
                "published": published.get(row.nodes),
            }
            for row in projection.rows
        ],
    }


def _forecast_as_dict(forecast: Forecast) -> dict[str, Any]:
    return {**_point_as_dict(forecast.point), "target_sync_period": forecast.period}


def _point_as_dict(point: ProjectedPoint) -> dict[str, Any]:
    return {
        "nodes": point.nodes,
        "steps": point.steps,
        "seconds": point.seconds,
        "speedup": point.speedup,
        "efficiency": point.efficiency,
        "parts": {part.value: seconds for part, seconds in point.parts.items()},
        "limit": point.limit,
    }


# -- as a figure ---------------------------------------------------------------------------------

HEIGHT = 4.5
BAND = 0.2  # opacity


def draw_scaling(
    projections: Sequence[Projection], published: Mapping[int, float], kind: str
) -> bytes:
    """Draw a file of that kind, svg or png: dots were measured, lines are modelled."""
    import matplotlib  # here: all else does without it
    from matplotlib.figure import Figure

    from pytest_rlperf.report.page.plots import DPI, LIGHT, SETTINGS, WIDTH

    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        for i, projection in enumerate(projections):
            _draw_projection(axes, projection, f"C{i}")
        if published:
            axes.plot([*published], [*published.values()], "x", color=LIGHT.text, label="published")
        _label_axes(axes, sorted(_nodes(projections)))
        axes.grid(color=LIGHT.faint, linewidth=0.6)
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper left", ncols=2, frameon=False)
        file = io.BytesIO()
        # Neither when nor by what it was drawn: the same jobs give the same file.
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(file, format=kind, metadata=metadata, dpi=DPI)
    return file.getvalue()


def _draw_projection(axes: "Axes", projection: Projection, colour: str) -> None:
    workload, rows = projection.workload, projection.rows
    nodes = [row.nodes for row in rows]
    expected = [row.expected.point.efficiency for row in rows]
    axes.plot(nodes, expected, "--", color=colour, label=f"{workload}, modelled")
    floors = [row.at_least.point.efficiency for row in rows if row.at_least is not None]
    if floors:
        label = "fitted exchange on top"
        axes.fill_between(nodes, floors, expected, color=colour, alpha=BAND, lw=0, label=label)
    dots = [(point.nodes, point.efficiency) for point in projection.measured]
    if dots:
        axes.plot(*zip(*dots, strict=True), "o", color=colour, label=f"{workload}, measured")


def _nodes(projections: Sequence[Projection]) -> set[int]:
    modelled = {row.nodes for each in projections for row in each.rows}
    return modelled | {point.nodes for each in projections for point in each.measured}


def _label_axes(axes: "Axes", nodes: Sequence[int]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_xscale("log", base=2)
    axes.set_xticks(nodes, [str(count) for count in nodes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("nodes, one rank each (dots: measured, dashed: modelled)")
    axes.set_ylabel("efficiency")
