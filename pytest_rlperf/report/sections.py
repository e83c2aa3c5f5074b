"""What the terminal shows after a run, part by part."""

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.advice import render_advice
from pytest_rlperf.report.categories import render_categories
from pytest_rlperf.report.extras import render_extra_table
from pytest_rlperf.report.kpis import render_kpi_table
from pytest_rlperf.report.memory import render_memory_table
from pytest_rlperf.report.phases import render_phase_table
from pytest_rlperf.report.scaling import render_scaling
from pytest_rlperf.report.terminal import render_explanations, render_table


def render_sections(run: RunResult) -> list[str]:
    """The verdicts first; a part that has nothing to say is left out."""
    advice = [f"advice: {line}" for line in render_advice(run)]
    parts = [
        render_table(run),
        render_memory_table(run),
        render_extra_table(run),
        render_phase_table(run),
        render_explanations(run),
        render_scaling(run),
        render_kpi_table(run),
        render_categories(run),
        advice,
    ]
    lines: list[str] = []
    for part in parts:
        lines += [*([""] if lines else []), *part] if part else []
    return lines
