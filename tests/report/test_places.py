"""Which line is blamed for a regression, and when none is."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rlperf.model.memory import METRICS, Evidence, MemoryResult, MetricResult, Site
from pytest_rlperf.model.profile import Function
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.model.why import (
    Cause,
    ComparedLine,
    Count,
    Explanation,
    Lines,
    Source,
    Spot,
)
from pytest_rlperf.report.places import Place, guilty_place
from tests.factories import a_test, verdict

TREE = "/home/runner/work/lib"
CALLED = Cause(
    Function("a.py", "act"),
    0.6,
    9.0,
    Count(1, 2, certain=True),
    time_ratio=1.0,
    source=Source.SAME,
    at=Spot("a.py", 3),
)
EDITED = replace(
    CALLED, function=Function("b.py", "learn"), source=Source.CHANGED, at=Spot("b.py", 7)
)
COMPILED = replace(CALLED, inlined=(Function("rules.py", "_step"),), at=Spot("rules.py", 5))
ELSEWHERE = replace(CALLED, source=Source.UNKNOWN, at=None)


def because(*causes: Cause, lines: Lines | None = None) -> TestResult:
    return a_test(explanation=Explanation(causes, lines=lines))


@pytest.mark.parametrize(
    ("causes", "place"),
    [
        ([CALLED], Place(Path("a.py"), 3)),
        ([CALLED, EDITED], Place(Path("b.py"), 7)),
        ([CALLED, COMPILED, EDITED], Place(Path("rules.py"), 5)),
        ([ELSEWHERE, CALLED], Place(Path("a.py"), 3)),
        ([ELSEWHERE], None),
        ([], None),
    ],
)
def test_a_function_that_was_edited_is_blamed_before_one_that_is_called_more_often(
    causes: list[Cause], place: Place | None
):
    assert guilty_place(because(*causes), TREE) == place


@pytest.mark.parametrize(("function", "line"), [("b.py:learn", 9), ("a.py:act", 7)])
def test_where_its_lines_were_timed_it_is_the_one_that_took_longer_by_most(
    function: str, line: int
):
    timed = Lines(
        function,
        (
            ComparedLine(8, "x = 1", 1, 50.0, 52.0),
            ComparedLine(None, "y = 1", 1, 90.0, None),
            ComparedLine(9, "y = 2", 1, None, 99.0),
        ),
    )
    assert guilty_place(because(EDITED, lines=timed), TREE) == Place(Path("b.py"), line)


def larger(name: str, *sites: str) -> TestResult:
    metric = next(metric for metric in METRICS if metric.name == name)
    found = MetricResult(metric, (1.0,), 1.0, verdict(Outcome.REGRESSED))
    evidence = Evidence(sites=tuple(Site(where, 10, 1) for where in sites))
    return a_test(memory=MemoryResult((found,), 20, head=evidence))


@pytest.mark.parametrize(
    ("test", "folder", "place"),
    [
        (larger("growth", "/usr/a.py:1", f"{TREE}/b.py:2"), TREE, Place(Path(TREE, "b.py"), 2)),
        (larger("growth", "/usr/a.py:1"), TREE, None),
        (larger("growth", f"{TREE}/b.py:2"), "", None),
        (larger("peak_rss", f"{TREE}/b.py:2"), TREE, None),
    ],
)
def test_what_grows_is_blamed_on_the_line_of_ours_that_leaves_most_behind(
    test: TestResult, folder: str, place: Place | None
):
    assert guilty_place(test, folder) == place
