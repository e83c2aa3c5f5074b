"""Scaling over the sizes of a job, as people and programs read it."""

from dataclasses import replace

from pytest_rlperf.model.rank_spec import Scaling
from pytest_rlperf.model.scaling import JobSize, ScalingRow, ScalingTable
from pytest_rlperf.model.verdict import Outcome, Severity
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.scaling import (
    render_efficiency_lost,
    render_scaling,
    scaling_as_dicts,
)
from tests.factories import run_result, verdict

ONE = ScalingRow("t.py::t[nprocs=1]", JobSize(1), 1e7, 1.0, 1.0, 100.0, "calls/s")
LOST = verdict(
    Outcome.REGRESSED,
    "less efficient than the allowed +5.0 %, beyond doubt",
    change=(0.12, 0.1, 0.14),
    severity=Severity.MEDIUM,
)
FOUR = ScalingRow(
    "t.py::t[nprocs=4]",
    JobSize(4, oversubscribed=True, gate_oversubscribed=True),
    5e6,
    2.0,
    0.5,
    200.0,
    "calls/s",
    LOST,
)
RUN = run_result(scaling=(ScalingTable("t.py::t[nprocs=*]", Scaling.STRONG, (ONE, FOUR)),))


def test_the_table_has_a_row_a_size():
    assert render_scaling(RUN) == [
        "strong scaling of t.py::t[nprocs=*]",
        "nprocs  time a call  speed-up  efficiency  throughput   efficiency lost",
        "1       10 ms        1.00      100 %       100 calls/s",
        "4       5 ms         2.00      50.0 %      200 calls/s  "
        "+12.0 % [+10.0, +14.0 %] REGRESSED  oversubscribed",
    ]


def test_two_tables_stand_apart():
    twice = replace(RUN, scaling=RUN.scaling * 2)
    assert render_scaling(twice).count("") == 1
    assert render_scaling(run_result()) == []


def test_a_test_that_lost_efficiency_says_how_much():
    assert render_efficiency_lost(RUN, "t.py::t[nprocs=4]") == [
        "REGRESSED (medium): efficiency with 4 ranks +12.0 % [+10.0, +14.0 %] worse, "
        "allowed +5.0 %\n  why: less efficient than the allowed +5.0 %, beyond doubt"
    ]
    assert render_efficiency_lost(RUN, "t.py::t[nprocs=1]") == []


def test_the_report_for_people_has_the_table():
    assert "### Scaling\n\n```\nstrong scaling of t.py::t[nprocs=*]" in render_markdown(RUN)


def test_programs_get_every_figure():
    (table,) = scaling_as_dicts(RUN)
    assert (table["test"], table["scaling"]) == ("t.py::t[nprocs=*]", "strong")
    one, four = table["rows"]
    assert (one["nprocs"], one["efficiency"], one["outcome"]) == (1, 1.0, None)
    assert four["oversubscribed"]
    assert four["gated"]
    assert (four["outcome"], four["change"], four["threshold"]) == ("regressed", 0.12, 0.05)
