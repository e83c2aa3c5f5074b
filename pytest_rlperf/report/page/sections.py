"""What the page says of the run as a whole, below its tests. A part without content is left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.model.scaling import ScalingTable
from pytest_rlperf.model.trend import History
from pytest_rlperf.report.advice import render_advice
from pytest_rlperf.report.categories import category_rows
from pytest_rlperf.report.facts import fact_rows
from pytest_rlperf.report.kpis import kpi_remarks, kpi_rows, render_kpi_title
from pytest_rlperf.report.page.charts.curves import Curve, curves_chart
from pytest_rlperf.report.page.charts.quantities import PLAIN
from pytest_rlperf.report.page.figures import overview
from pytest_rlperf.report.page.markup import Child, Markup, element, together
from pytest_rlperf.report.page.tables import bullets, facts, table, titled
from pytest_rlperf.report.page.trend_part import trend_part
from pytest_rlperf.report.scaling import render_scaling_title, scaling_rows
from pytest_rlperf.report.terminal import render_vanished


@dataclass(frozen=True, slots=True)
class Section:
    name: str  # as an anchor
    title: str
    content: Markup

    @property
    def link(self) -> Markup:
        return element("a", self.title, href=f"#{self.name}")

    @property
    def block(self) -> Markup:
        heading = element("h2", self.title)
        return element("section", heading, self.content, id=self.name)


def render_sections(
    run: RunResult, notices: Sequence[str], history: History | None
) -> list[Section]:
    vanished = map(render_vanished, run.vanished)
    found: dict[str, tuple[str, Child]] = {
        "overview": ("Overview", overview(run)),
        "trends": ("Trends", None if history is None else trend_part(run, history)),
        "kpis": ("KPIs", _kpis(run)),
        "scaling": ("Scaling", [_scaling(each) for each in run.scaling]),
        "categories": ("Categories", table(category_rows(run), "The run by category")),
        "notes": ("Notes", bullets([*render_advice(run), *vanished, *notices])),
        "machine": ("Machine and libraries", facts(fact_rows(run.fingerprint))),
    }
    made = [Section(name, title, together(content)) for name, (title, content) in found.items()]
    return [section for section in made if section.content]


def _kpis(run: RunResult) -> Iterator[Child]:
    if run.kpis:
        yield table(kpi_rows(run.kpis), render_kpi_title(run))
        yield bullets(kpi_remarks(run.kpis))


def _scaling(found: ScalingTable) -> Markup | None:
    rows = found.rows
    curves = [
        Curve(
            "ideal", "ideal", [(r.size.nprocs, r.size.nprocs / rows[0].size.nprocs) for r in rows]
        ),
        Curve("head", "head", [(row.size.nprocs, row.speedup) for row in rows]),
    ]
    picture = None
    if len(rows) > 1:
        picture = curves_chart("Speed-up over ranks", curves, PLAIN, PLAIN, measured=True)
    charts = element("div", picture, class_="charts")
    below = table(scaling_rows(found), "By number of ranks")
    return titled(3, render_scaling_title(found), charts, below)
