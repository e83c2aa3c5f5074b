"""What the terminal shows after a run, part by part."""

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.advice import render_advice
from pytest_rlperf.report.categories import render_categories
from pytest_rlperf.report.kpis import render_kpi_table
from pytest_rlperf.report.terminal import render_explanations, render_table


def render_sections(run: RunResult) -> list[str]:
    """The verdicts first; a part that has nothing to say is left out."""
    advice = [f"advice: {line}" for line in render_advice(run)]
    lines = render_table(run)
    for part in (render_explanations(run), render_kpi_table(run), render_categories(run), advice):
        lines += ["", *part] if part else []
    return lines
