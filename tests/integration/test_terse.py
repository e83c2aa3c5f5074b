"""`--rlperf-terse`: a few stable lines and nothing else, and the exit code as ever."""

import json

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.report.terse import TerseLine, parse_terse

from .projects import Ended, Project, Workshop

LIBRARY = """
from fakeclock import tick

def work():
    tick(1_000_000)

def other():
    tick(1_000_000)
"""
TESTS = """
import lib

def test_work(rlperf):
    rlperf(lib.work)

def test_other(rlperf):
    rlperf(lib.other)

def test_wrong(rlperf):
    rlperf(lib.other)
    assert 1 == 2, "learned too little"
"""
# What a project likes to see elsewhere does not come back in.
INI = "[pytest]\naddopts = -ra -v --durations=3\n"
BASE = {"lib.py": LIBRARY, "tests/test_perf.py": TESTS, "pytest.ini": INI}
SLOWER = LIBRARY.replace("1_000_000", "1_300_000", 1)


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return workshop.project("terse", BASE, {"lib.py": SLOWER})


@pytest.fixture(scope="module")
def ended(project: Project) -> Ended:
    return project.measure("--rlperf-terse", "--rlperf-profile=off", "tests")


def lines(ended: Ended) -> list[TerseLine]:
    """Every line of the output that is not empty; one that is none of ours fails."""
    found = [(text, parse_terse(text)) for text in ended.text.splitlines() if text.strip()]
    assert [text for text, line in found if line is None] == []
    return [line for _, line in found if line is not None]


def test_nothing_else_is_printed_and_what_is_plainly_fine_is_only_counted(ended: Ended):
    slower, wrong, total = lines(ended)
    assert (slower.word, slower.fields["test"]) == ("regressed", "tests/test_perf.py::test_work")
    assert slower.fields["change"] == "+30.0%"
    assert wrong == TerseLine(
        "failed",
        {
            "test": "tests/test_perf.py::test_wrong",
            "why": "AssertionError: learned too little",
        },
    )
    counts = {"tests": "3", "regressed": "1", "failed": "1", "same_code": "1", "exit": "1"}
    assert (total.word, {**total.fields, **counts}) == ("total", total.fields)
    assert "\x1b" not in ended.text


def test_the_exit_code_and_the_result_are_those_of_any_run(ended: Ended):
    assert ended.code == ended.result["exit_code"] == 1
    assert ended.outcomes["test_work"] == "regressed"


def test_its_result_can_be_explained(
    ended: Ended, project: Project, capsys: pytest.CaptureFixture[str]
):
    project.result.write_text(json.dumps(ended.result))
    assert main(["explain", str(project.result)]) == 0
    assert "REGRESSED (high): time +30.0 % [" in capsys.readouterr().out


def test_the_ini_file_can_ask_for_it(project: Project):
    ended = project.measure("-o", "rlperf_terse=true", "-k", "other", "tests")
    (total,) = lines(ended)
    assert (ended.code, total.word, total.fields["same_code"]) == (0, "total", "1")


def test_a_module_that_cannot_be_collected_is_an_error(workshop: Workshop):
    broken = workshop.project("terse-broken", {"tests/test_perf.py": "import nowhere\n"})
    ended = broken.measure("--rlperf-terse")
    said = [line for text in ended.text.splitlines() if (line := parse_terse(text))]
    assert ended.code == 2
    assert said[0].word == "error"
    assert "No module named 'nowhere'" in said[0].fields["why"]
    assert said[-1].fields["exit"] == "2"


def test_a_comparison_of_nothing_says_so(workshop: Workshop):
    ended = workshop.project("terse-none", {"tests/test_a.py": ""}).measure("--rlperf-terse")
    note, total = lines(ended)
    assert (note.word, note.fields["text"][:21]) == ("note", "NOTHING WAS COMPARED:")
    assert (ended.code, total.fields) == (6, {"tests": "0", "exit": "6"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rlperf-terse",), "rlperf: --rlperf-terse does nothing alone; add --rlperf."),
        (("--rlperf", "--rlperf-prove", "--rlperf-terse"), "--rlperf-prove gives none;"),
    ],
)
def test_where_there_are_no_verdicts_it_is_refused(
    project: Project, words: tuple[str, ...], said: str
):
    ended = project.refuse(*words)
    assert ended.code == 4
    assert said in ended.text
