"""KPIs as a table, as the text of a failing test, and as data."""

from pytest_rlperf.model.kpi import BUILT_IN, Kpi, KpiMetric, KpiResult, Reading, Status
from pytest_rlperf.report.kpis import (
    render_kpi_alerts,
    render_kpi_table,
    render_machine,
)
from pytest_rlperf.report.result_file import run_as_dict
from tests.factories import run_result

KPIS = {kpi.name: kpi for kpi in BUILT_IN}
MACHINE = {"cpu": "Some CPU", "cores": 2}

SLOW = KpiResult(
    KPIS["environment_step"],
    Status.ALERT,
    "beyond the alert, and so is its whole interval",
    "test_env.py::test_step",
    Reading(7.251, 7.22, 7.283, 5),
)
UNSURE = KpiResult(
    KPIS["safety_overhead"],
    Status.MISSED,
    "beyond the alert, which its interval still holds",
    "test_env.py::test_checked",
    Reading(26.04, 21.0, 31.2, 5),
)
MISSED = KpiResult(
    KPIS["compilation"],
    Status.MISSED,
    "beyond the target",
    "test_jit.py::test_jit",
    Reading(8.1, 5.2, 12.6, 1),
)
MET = KpiResult(
    KPIS["training_throughput"],
    Status.MET,
    "within the target",
    "test_train.py::test_train",
    Reading(76917.4, 75500.0, 78300.0, 5),
)
OPEN = KpiResult(KPIS["memory_per_episode"], Status.NOT_MEASURED, "no selected test claims it")

TABLE = """\
KPIs on Some CPU, 2 cores: 1 alert, 2 missed, 1 not measured, 1 met
              KPI                  value                                 target           alert          test
ALERT         environment_step     7.25 ± 0.032 ms a step                ≤ 1 ms           > 5 ms         test_env.py::test_step
missed        safety_overhead      26 ± 5.1 %                            ≤ 10 %           > 25 %         test_env.py::test_checked
missed        compilation          8.1 ± 3.7 s at first (measured once)  ≤ 5 s            > 30 s         test_jit.py::test_jit
not measured  memory_per_episode                                         ≤ 100 MB         > 500 MB
met           training_throughput  76,917 ± 1,400 steps/s                ≥ 1,000 steps/s  < 100 steps/s  test_train.py::test_train
safety_overhead: missed: beyond the alert, which its interval still holds
memory_per_episode: not measured: no selected test claims it"""  # noqa: E501


def test_the_table_has_the_worst_first_and_names_the_machine():
    run = run_result(kpis=(MET, UNSURE, OPEN, MISSED, SLOW), fingerprint=MACHINE)
    assert "\n".join(line.text for line in render_kpi_table(run)) == TABLE


def test_without_kpis_there_is_no_table():
    assert render_kpi_table(run_result()) == []


def test_an_alert_shows_value_limits_and_machine():
    run = run_result(kpis=(MET, SLOW, MISSED), fingerprint=MACHINE)
    assert render_kpi_alerts(run, "test_env.py::test_step") == [
        "KPI ALERT: environment_step is 7.25 ± 0.032 ms a step, alert > 5 ms\n"
        "  why: beyond the alert, and so is its whole interval; the target is ≤ 1 ms\n"
        "  measured on Some CPU, 2 cores"
    ]
    assert render_kpi_alerts(run, "test_jit.py::test_jit") == []


def test_a_machine_is_told_by_what_is_known_of_it():
    assert render_machine({"cpu": "Some CPU", "cores": 1}) == "Some CPU, 1 core"
    assert render_machine({}) == "an unknown CPU"


def test_a_time_of_a_call_says_so():
    kpi = Kpi("reset", KpiMetric.TIME, 5, 20, "µs")
    reset = KpiResult(kpi, Status.MET, "within the target", "t", Reading(3.0, 2.9, 3.1, 2))
    (_, _, row) = render_kpi_table(run_result(kpis=(reset,)))
    assert "3 ± 0.1 µs a call (measured twice)" in row.text


def test_a_kpi_is_data_with_null_for_what_was_not_measured():
    assert run_as_dict(run_result(kpis=(SLOW,)), 0)["kpis"] == [
        {
            "name": "environment_step",
            "nodeid": "test_env.py::test_step",
            "metric": "step_time",
            "unit": "ms",
            "direction": "lower",
            "target": 1,
            "alert": 5,
            "value": 7.251,
            "low": 7.22,
            "high": 7.283,
            "blocks": 5,
            "status": "alert",
            "reason": "beyond the alert, and so is its whole interval",
        }
    ]
    (found,) = run_as_dict(run_result(kpis=(OPEN,)), 0)["kpis"]
    assert [found[name] for name in ("nodeid", "value", "low", "high")] == [None] * 4
    assert (found["status"], found["blocks"]) == ("not_measured", 0)
