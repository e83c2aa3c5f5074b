"""What GitHub Actions shows: annotations at the tests, and the summary of the job."""

import urllib.parse
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.kpi import BUILT_IN, KpiResult, Reading, Status
from pytest_rlperf.model.metric import Outcome, Severity
from pytest_rlperf.model.profile import Cause, Count, Explanation, Function, Spot
from pytest_rlperf.profile.report import Place
from pytest_rlperf.report.github import SUMMARY_BYTES, render_annotations, write_job_summary
from tests.factories import a_test, block, examples, run_result, verdict

ON_GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/home/runner/work/lib"}


def slower(nodeid: str = "test_a.py::test_a", change: float = 0.25, **fields: Any):
    found = verdict(
        Outcome.REGRESSED, "100 % sure", (change, 0.2, 0.3), severity=Severity.HIGH, detectable=0.1
    )
    return a_test(nodeid, verdict=found, blocks=(block([5], [4]),), **fields)


def test_a_regression_is_annotated_where_the_test_is_written():
    place = Place(Path("/home/runner/work/lib/tests/test_a.py"), 12)
    (found,) = render_annotations(run_result(slower()), {"test_a.py::test_a": place}, ON_GITHUB)
    assert found.startswith(
        "::error file=tests/test_a.py,line=12,title=Slower%3A test_a.py%3A%3Atest_a"
        "::REGRESSED (high): time +25.0 %25 [+20.0, +30.0 %25] against main (1a2b3c4), "
        "allowed +5.0 %25%0A  why: 100 %25 sure%0A"
    )
    assert found.endswith("%0A  repeat: pytest --rlperf test_a.py::test_a")


def test_a_regression_whose_cause_is_known_is_annotated_there():
    at = Spot("lib/ring.py", 31)
    cause = Cause(Function("lib/ring.py", "push"), 1.0, 5.0, Count(1, 1, True), 2.0, at=at)
    place = Place(Path("/home/runner/work/lib/tests/test_a.py"), 12)
    test = slower(explanation=Explanation((cause,)))
    (found,) = render_annotations(run_result(test), {test.nodeid: place}, ON_GITHUB)
    assert found.startswith(
        "::error file=lib/ring.py,line=31,title=Slower%3A test_a.py%3A%3Atest_a"
    )


def test_a_kpi_alert_is_annotated_too_after_a_regression_of_the_same_test():
    step = next(kpi for kpi in BUILT_IN if kpi.name == "environment_step")
    reading = Reading(7.25, 7.2, 7.3, 5)
    alert = KpiResult(step, Status.ALERT, "beyond the alert", "test_a.py::test_a", reading)
    fast = a_test("test_b.py::test_b", verdict=verdict(Outcome.UNCHANGED))
    run = run_result(fast, slower(), kpis=(alert,))
    first, second = render_annotations(run, {}, ON_GITHUB)
    assert first.startswith("::error title=Slower%3A test_a.py")
    assert second.startswith(
        "::error title=KPI alert%3A test_a.py%3A%3Atest_a::KPI ALERT: environment_step is 7.25"
    )


@pytest.mark.parametrize(
    ("place", "properties"),
    [
        (None, "title="),
        (Place(Path("/elsewhere/a,b:c.py"), None), "file=/elsewhere/a%2Cb%3Ac.py,title="),
    ],
)
def test_what_is_not_known_of_the_place_is_left_out(place: Place | None, properties: str):
    places = {} if place is None else {"test_a.py::test_a": place}
    (found,) = render_annotations(run_result(slower()), places, ON_GITHUB)
    assert found.startswith(f"::error {properties}Slower")


@examples
@given(st.text())
def test_no_id_breaks_out_of_its_annotation(nodeid: str):
    (found,) = render_annotations(run_result(slower(nodeid, repeat_command="")), {}, ON_GITHUB)
    title = found.removeprefix("::error title=").split("::")[0]
    assert "\n" not in found
    assert "\r" not in found
    assert "," not in title
    assert urllib.parse.unquote(title, errors="surrogatepass") == f"Slower: {nodeid}"


def test_only_regressions_are_annotated_the_worst_first():
    tests = (slower("small", 0.1), a_test("same"), slower("large", 0.5))
    found = render_annotations(run_result(*tests), {}, ON_GITHUB)
    assert [line.split("%3A ")[1].split("::")[0] for line in found] == ["large", "small"]


@pytest.mark.parametrize("environ", [{}, {"GITHUB_ACTIONS": "false"}])
def test_elsewhere_nothing_is_annotated(environ: dict[str, str]):
    assert render_annotations(run_result(slower()), {}, environ) == []


def test_the_table_is_appended_to_the_summary_of_the_step(tmp_path: Path):
    path = tmp_path / "summary.md"
    path.write_text("# Before\n")
    environ = {"GITHUB_STEP_SUMMARY": str(path)}
    assert write_job_summary(run_result(slower()), ["a notice"], environ) is None
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Before\n## Performance: 1 regressed\n")
    assert "| **REGRESSED** | +25.0 % [+20.0, +30.0 %] |" in text
    assert "- a notice" in text


def test_a_summary_stays_below_what_github_takes_with_what_stands_there_already(tmp_path: Path):
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * 900_000 + b"\n")
    many = (slower(f"t.py::test[{'µ' * 50}{i}]") for i in range(2_000))
    assert write_job_summary(run_result(*many), [], {"GITHUB_STEP_SUMMARY": str(path)}) is None
    assert SUMMARY_BYTES - 2_000 < path.stat().st_size <= SUMMARY_BYTES
    assert "**Shortened:**" in path.read_text(encoding="utf-8")[-200:]


def test_a_full_summary_is_left_as_it_is(tmp_path: Path):
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * (SUMMARY_BYTES - 10))
    said = write_job_summary(run_result(slower()), [], {"GITHUB_STEP_SUMMARY": str(path)})
    assert said == f"the job summary {path} is full; write it in a step of its own."
    assert path.stat().st_size == SUMMARY_BYTES - 10


def test_a_summary_that_cannot_be_written_is_told_and_harms_nothing(tmp_path: Path):
    environ = {"GITHUB_STEP_SUMMARY": str(tmp_path)}
    said = write_job_summary(run_result(slower()), [], environ)
    assert said == f"the job summary {tmp_path} cannot be written: Is a directory."


def test_elsewhere_there_is_no_summary_to_write():
    assert write_job_summary(run_result(slower()), [], {"GITHUB_STEP_SUMMARY": ""}) is None
    assert write_job_summary(run_result(slower()), [], {}) is None
