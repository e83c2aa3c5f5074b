"""`--rlperf` with a stored baseline: compared, regressed, incomparable, or in no state to be read.

The baseline is called `nightly` and lies in a folder of its own.
"""

import json
from pathlib import Path

import pytest

from pytest_rlperf.baselines.file import SCHEMA
from pytest_rlperf.baselines.levels import CLOCK
from pytest_rlperf.model.quantity import format_rate, format_time

from .projects import Ended, Project, Workshop
from .stored import TESTS, baseline_file, coarse, compare, library, new_project

ELSEWHERE = "--rlperf-baselines=elsewhere"
NIGHTLY = ("--rlperf-baseline=nightly", ELSEWHERE)
ANEW = "; restore it from version control, or remove it and save again with --rlperf-save."


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    project = new_project(workshop, "baseline")
    assert compare(project, "--rlperf-save=nightly", ELSEWHERE).code == 0
    return project


@pytest.fixture(scope="module")
def path(project: Project) -> Path:
    return baseline_file(project, folder="elsewhere", name="nightly")


@pytest.fixture(scope="module")
def compared(project: Project, path: Path) -> Ended:
    """One test is twenty times slower, the other as it was."""
    project.write({"lib.py": library(20)})
    return compare(project, *NIGHTLY)


@pytest.fixture(scope="module")
def other_source(project: Project, compared: Ended) -> Ended:
    project.write(
        {"tests/test_perf.py": TESTS.replace("rlperf(lib.work)", "rlperf(lambda: lib.work())")}
    )
    return compare(project, *NIGHTLY, "tests/test_perf.py::test_work")


def test_a_slower_test_fails_the_run(compared: Ended):
    assert coarse(compared) == {"test_work": "regressed", "test_other": "passed"}
    assert compared.code == 1
    assert "against baseline 'nightly', allowed +300 %" in compared.section("test_work")


def test_it_says_which_revision_tells_why(compared: Ended, project: Project):
    saved_from = project.git("rev-parse", "--short=7", "HEAD")
    assert (
        f"profile: a baseline holds no code to look into; --rlperf-against={saved_from} compares "
        "with the commit it was saved from and tells why"
    ) in compared.section("test_work")


def test_the_result_says_what_it_was_compared_with(compared: Ended):
    assert compared.result["mode"] == "stored"
    assert compared.result["against"] == "baseline 'nightly'"
    assert compared.result["base_commit"] is None
    assert "rlperf: against the stored baseline 'nightly', allowed +300 %" in compared.text


def test_the_result_has_the_time_over_every_kernel_and_the_unit_it_was_judged_in(
    compared: Ended, path: Path
):
    stored = json.loads(path.read_text())["tests"]["tests/test_perf.py::test_work"]
    reference = compared.test("test_work")["reference"]
    assert reference["log_ratios"].keys() == stored["sessions"][0]["blocks"].keys()
    # Which kernels, the machine decides: those of the save, or others that the run speaks for.
    assert reference["weights"].keys() <= reference["log_ratios"].keys() - {CLOCK}
    assert sum(reference["weights"].values()) == pytest.approx(1.0)


def test_the_change_is_measured_in_reference_units(compared: Ended):
    metric = compared.metric("test_work")
    assert 5 < metric["change"] < 80  # twentyfold, by kernels that really run
    assert metric["base_blocks"] == []


def test_the_value_of_the_baseline_follows_from_the_change(compared: Ended):
    time, rate = compared.test("test_work")["metrics"]
    assert time["base_value"] == pytest.approx(time["value"] / (1 + time["change"]))
    assert rate["base_value"] == pytest.approx(rate["value"] * (1 + rate["change"]))
    assert "base → head" in compared.text
    head = f"{format_time(time['value'])} ({format_rate(rate['value'])}"
    assert f"{format_time(time['base_value'])} → {head}" in compared.text


def test_a_run_that_only_compares_leaves_the_baselines_alone(compared: Ended, project: Project):
    assert not (project.folder / "baselines").exists()
    assert "rlperf: saved" not in compared.text


def test_a_benchmark_whose_source_changed_is_incomparable_and_says_so(other_source: Ended):
    assert other_source.outcomes == {"test_work": "incomparable"}
    assert (
        "tests/test_perf.py::test_work: incomparable: the benchmark itself changed since its "
        "baseline was saved" in other_source.text
    )


def test_with_nothing_that_fits_the_run_passes_and_says_so_loudly(other_source: Ended):
    assert other_source.code == 0
    assert (
        "rlperf: NOTHING WAS COMPARED: there is no stored baseline 'nightly' that fits; save one "
        "with pytest --rlperf --rlperf-save, or compare with a revision: "
        "pytest --rlperf --rlperf-against=REF." in other_source.text.splitlines()
    )
    assert other_source.metric("test_work")["value"] == pytest.approx(20e6, rel=0.002)


def test_strict_makes_a_failure_of_it(project: Project, other_source: Ended):
    strict = ("--rlperf-strict", "--rlperf-budget=0.01")  # no time is needed to know it
    ended = compare(project, *NIGHTLY, *strict, "tests/test_perf.py::test_work")
    assert ended.code == 1
    assert ended.section("test_work").startswith("incomparable: tests/test_perf.py::test_work\n")


def test_a_baseline_of_another_project_is_recognised(project: Project, path: Path):
    good = path.read_text()
    path.write_text(good.replace("tests/test_perf.py", "their/test_game.py"))
    ended = compare(project, *NIGHTLY, "tests/test_perf.py::test_other")
    path.write_text(good)
    assert ended.code == 0
    assert (
        "NOTHING WAS COMPARED: the stored baseline 'nightly' has none of these tests, but others "
        "such as their/test_game.py::test_other; save one" in ended.text
    )


def test_a_name_that_nothing_is_stored_under_is_refused(project: Project):
    ended = project.refuse("--rlperf", "--rlperf-baseline=weekly", ELSEWHERE)
    assert ended.code == 4
    folder = project.folder / "elsewhere"
    assert (
        f"ERROR: rlperf: no baseline is named 'weekly' in {folder}, there are nightly; save it "
        "with --rlperf-save=weekly." in ended.text.splitlines()
    )


@pytest.mark.parametrize("option", [NIGHTLY, ("--rlperf-save=nightly", ELSEWHERE)])
@pytest.mark.parametrize("damage", ["truncated", "newer"])
def test_a_damaged_file_ends_the_run_before_it_measures_and_is_left_as_it_is(
    project: Project, path: Path, option: tuple[str, ...], damage: str
):
    good = path.read_text()
    content = json.loads(good)
    bad = good[:1000] if damage == "truncated" else json.dumps({**content, "schema": SCHEMA + 1})
    path.write_text(bad)
    ended = project.refuse("--rlperf", *option)
    left = path.read_text()
    path.write_text(good)
    (error,) = [line for line in ended.text.splitlines() if line.startswith("ERROR: ")]
    assert ended.code == 4
    assert error.startswith(f"ERROR: rlperf: {path} ")
    assert error.endswith(ANEW if damage == "truncated" else "; update pytest-rlperf.")
    assert left == bad
