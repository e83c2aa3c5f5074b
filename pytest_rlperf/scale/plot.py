"""Measured and modelled efficiency in one figure. Imported only where matplotlib is there."""

import io
from collections.abc import Mapping, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from pytest_rlperf.report.page.plots import DPI, LIGHT, SETTINGS, WIDTH
from pytest_rlperf.scale.jobs import Projection

HEIGHT = 4.5
BAND = 0.2  # opacity


def draw_scaling(found: Sequence[Projection], published: Mapping[int, float], kind: str) -> bytes:
    """A file of that kind, svg or png: dots were measured, lines are modelled."""
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        for i, each in enumerate(found):
            _draw(axes, each, f"C{i}")
        if published:
            axes.plot([*published], [*published.values()], "x", color=LIGHT.text, label="published")
        _dress(axes, sorted(_nodes(found)))
        figure.legend(loc="outside upper left", ncols=2, frameon=False)
        file = io.BytesIO()
        # Neither when nor by what it was drawn: the same jobs give the same file.
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(file, format=kind, metadata=metadata, dpi=DPI)
    return file.getvalue()


def _draw(axes: Axes, found: Projection, colour: str) -> None:
    nodes = [row.nodes for row in found.rows]
    expected = [row.expected.point.efficiency for row in found.rows]
    axes.plot(nodes, expected, "--", color=colour, label=f"{found.workload}, modelled")
    floors = [row.at_least.point.efficiency for row in found.rows if row.at_least is not None]
    if floors:
        label = "fitted exchange on top"
        axes.fill_between(nodes, floors, expected, color=colour, alpha=BAND, lw=0, label=label)
    dots = [(point.nodes, point.efficiency) for point in found.measured]
    if dots:
        axes.plot(*zip(*dots, strict=True), "o", color=colour, label=f"{found.workload}, measured")


def _nodes(found: Sequence[Projection]) -> set[int]:
    modelled = {row.nodes for each in found for row in each.rows}
    return modelled | {point.nodes for each in found for point in each.measured}


def _dress(axes: Axes, nodes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(nodes, [str(count) for count in nodes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("nodes, one rank each (dots: measured, dashed: modelled)")
    axes.set_ylabel("efficiency")
    axes.grid(color=LIGHT.faint, linewidth=0.6)
    axes.set_axisbelow(True)
