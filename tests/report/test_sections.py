"""The parts of the terminal's summary: verdicts first, and none that has nothing to say."""

from pytest_rlperf.model.kpi import BUILT_IN, KpiResult, Status
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.sections import render_sections
from pytest_rlperf.report.terminal import render_table
from tests.factories import a_test, block, run_result


def test_a_plain_run_has_its_verdicts_only():
    run = run_result(a_test())
    assert render_sections(run) == render_table(run)


def test_parts_follow_each_other_with_a_line_between():
    slow = (block([50 * 10**6], None),)
    run = run_result(
        a_test("a", spec=Spec(category="env"), blocks=slow),
        a_test("b", spec=Spec(category="rl")),
        kpis=(KpiResult(BUILT_IN[0], Status.NOT_MEASURED, "no selected test claims it"),),
    )
    lines = render_sections(run)
    starts = [lines[n + 1].split()[0] for n, line in enumerate(lines) if not line]
    assert starts == ["KPIs", "category", "advice:"]
