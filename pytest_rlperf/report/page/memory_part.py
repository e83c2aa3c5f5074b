"""What a card says of the memory of its test."""

from collections.abc import Iterator

from pytest_rlperf.model.memory import MemoryResult
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.memory import memory_remarks, memory_rows, render_memory_evidence
from pytest_rlperf.report.memory_export import render_label
from pytest_rlperf.report.page.charts.curves import Curve, curves_chart
from pytest_rlperf.report.page.charts.quantities import BYTES, SECONDS
from pytest_rlperf.report.page.charts.sides import sides_chart
from pytest_rlperf.report.page.markup import Markup, element
from pytest_rlperf.report.page.tables import bullets, table, titled

LEAST_POINTS = 2


def memory_part(test: TestResult) -> Markup | None:
    memory = test.memory
    if memory is None:
        return None
    return titled(
        4,
        "Memory",
        table(memory_rows([test]), "Memory of the processes", last=False),
        bullets([*memory_remarks(test), *_labels(memory)]),
        element("div", list(_charts(memory)), class_="charts"),
        bullets(render_memory_evidence(memory)),
    )


def _labels(memory: MemoryResult) -> Iterator[str]:
    for found in memory.metrics:
        if label := render_label(found, memory.head):
            yield f"{found.metric.name}: {label}"


def _charts(memory: MemoryResult) -> Iterator[Markup]:
    peak = memory.metric("peak_rss")
    if peak is not None:
        yield sides_chart("Peak, process by process", peak.head, peak.base, BYTES)
    sides = {"base": memory.base, "head": memory.head}
    curves = [
        Curve(name, name, side.curve)
        for name, side in sides.items()
        if side is not None and len(side.curve) >= LEAST_POINTS
    ]
    if curves:
        yield curves_chart("Memory over time", curves, SECONDS, BYTES)
