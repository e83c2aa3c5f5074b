"""What explains, draws or publishes a verdict may fail, and never costs it."""

import pytest

from .fake_time import COMMON
from .projects import Ended, Workshop

LIBRARY = """
from fakeclock import tick

def learn():
    tick({ns})
"""
TESTS = """
from lib import learn

def test_learn(rlperf):
    rlperf(learn)
"""
BROKEN = {
    "profile.profiler.Profiler.explain": "no profile",
    "gate.publishing.render_failure": "the rest cannot be told",
    "report.terminal.render_cost": "this is not all",
    "gate.remembered.RememberedScouts.keep": "nothing is remembered for the next run",
    "gate.publishing.render_markdown": "report.md cannot be written",
    "gate.publishing.render_page": "report.html cannot be written",
    "gate.publishing.write_job_summary": "no job summary",
    "gate.publishing.render_annotations": "no annotations",
}
"""What is made to raise, and how the line begins that says so."""

BREAK = f"""
if CONTROLLER:
    import pkgutil

    def breaking(name):
        def broken(*args, **kwargs):
            return [1 / 0 for _ in "1"]
        place, _, attribute = name.rpartition(".")
        setattr(pkgutil.resolve_name("pytest_rlperf." + place), attribute, broken)

    for name in {list(BROKEN)}:
        breaking(name)
"""


@pytest.fixture(scope="module")
def broken(workshop: Workshop) -> Ended:
    """A run on a head that is 30 % slower, in which all of it raises."""
    common = {**COMMON, "conftest.py": COMMON["conftest.py"] + BREAK}
    base = {"lib.py": LIBRARY.format(ns=1_000_000), "test_perf.py": TESTS}
    head = {"lib.py": LIBRARY.format(ns=1_300_000)}
    project = workshop.project("never-fatal", base, head, common=common)
    return project.measure("--rlperf-report=report")


def test_the_verdict_stands(broken: Ended):
    assert broken.code == 1
    assert broken.outcomes == {"test_learn": "regressed"}
    assert "1 failed" in broken.text
    assert "INTERNALERROR" not in broken.text


@pytest.mark.parametrize("line", BROKEN.values(), ids=list(BROKEN))
def test_a_line_says_what_is_missing_and_why(broken: Ended, line: str):
    said = [told for told in broken.text.splitlines() if line in told]
    assert said
    assert all("ZeroDivisionError" in told for told in said)


def test_what_could_be_written_is_there(broken: Ended):
    assert [path.name for path in (broken.folder / "report").iterdir()] == ["report.json"]
