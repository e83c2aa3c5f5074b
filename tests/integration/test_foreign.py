"""`--rlperf-foreign`: a stored baseline of another machine is shown, and judged by request only.

One test is twenty times slower than the baseline, the other as it was.
"""

import pytest

from .projects import Ended, Project, Workshop
from .stored import coarse, compare, library, make_foreign, new_project, save

LOUD = (
    "rlperf: NOTHING WAS COMPARED: the stored baseline 'main' is of another machine, so changes "
    "are shown, not judged; save one with pytest --rlperf --rlperf-save, or compare with a "
    "revision: pytest --rlperf --rlperf-against=REF."
)


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    project = new_project(workshop, "foreign")
    assert save(project).code == 0
    make_foreign(project, family="of old")
    project.write({"lib.py": library(20)})
    return project


@pytest.fixture(scope="module")
def shown(project: Project) -> Ended:
    return compare(project)


@pytest.fixture(scope="module")
def judged(project: Project, shown: Ended) -> Ended:
    return compare(project, "--rlperf-foreign=judge")


def test_another_machine_is_incomparable_and_fails_nothing(shown: Ended):
    assert shown.outcomes == {"test_work": "incomparable", "test_other": "incomparable"}
    assert shown.code == 0


def test_the_change_is_shown_without_a_judgement(shown: Ended):
    metric = shown.metric("test_work")
    assert 5 < metric["low"] < metric["change"] < metric["high"] < 80
    assert (metric["severity"], metric["threshold"], metric["detectable"]) == (None,) * 3
    assert metric["blocks"] == 3
    assert shown.result["against"] == "baseline 'main'"


def test_the_reason_names_what_differs_and_is_told_once(shown: Ended):
    reason = "incomparable: saved on another machine: family was of old, is "
    assert reason.removeprefix("incomparable: ") in shown.metric("test_work")["reason"]
    (line,) = [line for line in shown.text.splitlines() if reason in line]
    assert line.startswith("2 tests: ")


def test_the_run_ends_by_saying_that_the_whole_baseline_is_of_another_machine(shown: Ended):
    assert LOUD in shown.text.splitlines()
    assert shown.text.count("NOTHING WAS COMPARED") == 1


def test_by_request_it_is_judged_and_labelled(judged: Ended):
    assert coarse(judged) == {"test_work": "regressed", "test_other": "passed"}
    assert judged.code == 1
    assert judged.metric("test_work")["label"].startswith(
        "saved on another machine (family was of old, is "
    )
    assert "NOTHING WAS COMPARED" not in judged.text


def test_the_ini_twin_judges_too_and_allows_25_percent_at_least(project: Project, judged: Ended):
    ended = project.run("--rlperf", "-o", "rlperf_foreign=judge", "tests/test_perf.py::test_work")
    assert ended.outcomes == {"test_work": "regressed"}
    assert ended.metric("test_work")["threshold"] == 0.25


def test_strict_fails_where_nothing_is_judged(project: Project, judged: Ended):
    ended = compare(project, "--rlperf-strict", "--rlperf-budget=0.01")
    assert ended.code == 1


@pytest.mark.parametrize("wish", ["ask", ""])
def test_any_other_wish_is_refused(project: Project, wish: str):
    ended = project.refuse("--rlperf", f"--rlperf-foreign={wish}")
    assert ended.code == 4
    assert (
        f"ERROR: rlperf: --rlperf-foreign={wish} is no use of another machine's baseline; write "
        "show or judge." in ended.text.splitlines()
    )


def test_a_save_beside_it_is_not_refused_and_judged_from_then_on(project: Project, judged: Ended):
    saved = save(project)
    assert saved.code == 0
    assert set(saved.outcomes.values()) == {"incomparable"}
    ended = compare(project)
    assert set(coarse(ended).values()) == {"passed"}
    folders = {path.name for path in (project.folder / "baselines").iterdir()}
    assert len(folders) == 2
    assert "another-machine" in folders
