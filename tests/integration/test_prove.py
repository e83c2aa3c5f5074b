"""`--rlperf-prove`: the gate measured on changes that are known.

The runs follow each other in one project, which is no repository. How many verdicts are wanted is
told by the environment; the fake clock lets the injected time pass.
"""

import signal
from pathlib import Path

import pytest

from pytest_rlperf.prove.rates import proof_file, read

from .fake_time import COMMON
from .projects import Ended, Project, Workshop

SPENDING = """
def spend(self, ns):
    self.now_ns += ns

FakeClock.compute = FakeClock.sleep = spend
"""
WANTED = """
import os
import sys

if "--rlperf-prove" in sys.argv:
    from pytest_rlperf.prove import rounds

    numbers = zip((0.0, 0.1), map(int, os.environ["WANTED"].split()))
    rounds.CASES = tuple(rounds.Case(injected, wanted) for injected, wanted in numbers)
"""
LIBRARY = """
from fakeclock import tick

def work():
    tick(1_000_000)

def refuse():
    raise ValueError("no such action")
"""
TESTS = """
import lib
import pytest

def test_work(rlperf):
    rlperf(lib.work)

@pytest.mark.rlperf(threshold="2%")
def test_strict(rlperf):
    rlperf(lib.work)
"""
BROKEN = """
def test_broken(rlperf):
    rlperf(lib.refuse)
"""
STUCK = """
import os
import pathlib
import time

from fakeclock import tick

def work():
    tick(1_000_000)
    if os.path.exists(os.environ["VERDICTS"]):
        pathlib.Path(os.environ["INTEGRATION_FOLDER"], "stuck").touch()
        time.sleep(3600)
"""
FILES = {
    **COMMON,
    "fakeclock.py": COMMON["fakeclock.py"] + SPENDING,
    "conftest.py": COMMON["conftest.py"] + WANTED,
    "lib.py": LIBRARY,
    "tests/test_perf.py": TESTS,
}


def prove(project: Project, wanted: str, *args: str) -> Ended:
    return project.run("--rlperf", "--rlperf-prove", *args, env={"WANTED": wanted})


def verdicts(project: Project) -> Path:
    return proof_file(project.cache, project.folder)


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    project = workshop.plain("prove")
    project.write(FILES)
    return project


@pytest.fixture(scope="module")
def first(project: Project) -> Ended:
    return prove(project, "2 2", "--rlperf-report=report")


@pytest.fixture(scope="module")
def second(project: Project, first: Ended) -> Ended:
    """After the first was killed in the middle of a line, so to speak."""
    with verdicts(project).open("a") as file:
        file.write('{"schema": 1, "nod')
    return prove(project, "4 2")


@pytest.fixture(scope="module")
def third(project: Project, second: Ended) -> Ended:
    return prove(project, "4 2")


def test_unchanged_code_is_not_called_slower_and_slowed_code_is(first: Ended):
    cases = {(c["injected"], c["threshold"]): c for c in first.result["proof"]["cases"]}
    called = {case: found["slower"] for case, found in cases.items()}
    assert called == {(0.0, 0.02): 0, (0.0, 0.05): 0, (0.1, 0.02): 1, (0.1, 0.05): 1}
    assert {found["n"] for found in cases.values()} == {1}


def test_ten_percent_read_as_ten_percent(first: Ended):
    slower = [c["mean_change"] for c in first.result["proof"]["cases"] if c["injected"]]
    assert slower == pytest.approx([0.1, 0.1], abs=0.001)


def test_a_change_that_was_called_fails_nothing(first: Ended):
    assert first.code == 0
    assert "2 passed" in first.text
    assert "REGRESSED" not in first.text


def test_the_terminal_says_what_is_proved_and_what_came_of_it(first: Ended):
    assert "rlperf: proving the gate, allowed +5.0 %, a round of at most 300 s" in first.text
    assert "rlperf: proof of the gate, 4 verdicts, 4 of them new in " in first.text
    assert "verdicts: 2 of 2 unchanged, 2 of 2 at +10.0 %; that is all that was" in first.text


def test_the_result_is_that_of_a_proof(first: Ended):
    result = first.result
    assert (result["mode"], result["against"], result["exit_code"]) == ("prove", None, 0)
    assert first.outcomes == {"test_work": "no_baseline", "test_strict": "no_baseline"}
    assert first.metric("test_work")["value"] == pytest.approx(1e6, rel=0.002)  # not the slowed
    assert set(result["proof"]["tests"]) == {test["nodeid"] for test in result["tests"]}


def test_the_report_shows_the_table(first: Ended):
    text = (first.folder / "report" / "report.md").read_text(encoding="utf-8")
    assert text.startswith("## Performance: proof of the gate, 4 verdicts, 4 of them new\n")
    assert "should be called slower\n" in text


def test_the_same_command_goes_on(second: Ended, project: Project):
    proof = second.result["proof"]
    assert (proof["added"], proof["left_out"]) == (2, 0)
    assert [goal["done"] for goal in proof["goals"]] == [4, 2]
    assert "rlperf: proof of the gate, 6 verdicts, 2 of them new in " in second.text


def test_a_torn_line_is_dropped(second: Ended, project: Project):
    assert len(read(verdicts(project))) == 6


def test_when_nothing_more_is_wanted_it_shows_what_there_is(third: Ended):
    assert third.code == 0
    assert third.result["proof"]["added"] == 0
    assert "rlperf: proof of the gate, 6 verdicts, 0 of them new in " in third.text


def test_verdicts_on_a_test_that_was_written_anew_are_left_out(third: Ended, project: Project):
    project.write({"tests/test_perf.py": TESTS.replace("rlperf(lib.work)", "rlperf(lib.work, )")})
    ended = prove(project, "1 0")
    assert (ended.result["proof"]["added"], ended.result["proof"]["left_out"]) == (2, 6)
    assert "on this machine; 6 others are left out." in ended.text


def test_a_failing_test_is_shown_and_the_others_are_proved_on(workshop: Workshop):
    project = workshop.plain("prove-broken")
    project.write({**FILES, "tests/test_perf.py": TESTS + BROKEN})
    ended = prove(project, "1 1")
    assert ended.code == ended.result["exit_code"] == 1
    assert "ValueError: no such action" in ended.section("test_broken")
    assert ended.result["summary"] == {"failed": 1, "no_baseline": 2}
    assert ended.result["proof"]["added"] == 4


def test_ctrl_c_keeps_what_was_measured(workshop: Workshop):
    project = workshop.plain("prove-interrupted")
    project.write({**FILES, "lib.py": STUCK})
    path = verdicts(project)
    environment = {"WANTED": "9 9", "VERDICTS": str(path)}
    run = project.start("--rlperf", "--rlperf-prove", env=environment)
    run.wait_for_file("stuck")
    run.popen.send_signal(signal.SIGINT)
    ended = run.wait(deadline_s=30)
    assert ended.code == 2
    assert {trial.injected for trial in read(path)} == {0.0}
    assert "rlperf: interrupted; the verdicts until then are kept." in ended.text.splitlines()
    assert run.processes() == []


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("against=main", "--rlperf-against and --rlperf-prove exclude each other; give one"),
        ("save", "--rlperf-prove and --rlperf-save exclude each other; give one of them."),
        ("baseline=main", "--rlperf-prove and --rlperf-baseline exclude each other; give one"),
    ],
)
def test_what_compares_with_something_else_is_refused(project: Project, option: str, sentence: str):
    ended = prove(project, "1 1", f"--rlperf-{option}")
    assert ended.code == 4
    assert f"ERROR: rlperf: {sentence}" in ended.text


def test_a_file_that_cannot_be_read_is_refused_at_once(workshop: Workshop):
    project = workshop.plain("prove-damaged")
    project.write(FILES)
    verdicts(project).parent.mkdir(parents=True, exist_ok=True)
    verdicts(project).write_text("nonsense\n")
    ended = prove(project, "1 1")
    assert ended.code == 4
    assert f"ERROR: rlperf: {verdicts(project)} is damaged in line 1 (" in ended.text


def test_a_revision_in_the_ini_file_gives_way(project: Project, first: Ended):
    """There is not even a repository."""
    ended = prove(project, "0 0", "-o", "rlperf_against=main")
    assert ended.code == 0
    assert ended.result["mode"] == "prove"


def test_mpi_tests_alone_cannot_be_proved(workshop: Workshop):
    files = {"tests/test_perf.py": "def test_ranks(rlperf_mpi):\n    rlperf_mpi(int)\n"}
    ended = workshop.project("prove-mpi", files).refuse("--rlperf", "--rlperf-prove")
    assert ended.code == 4
    assert "--rlperf-prove cannot slow MPI tests by a known amount" in ended.text
