"""Profiles in words and as data."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rlperf.model.memory import Evidence, MemoryResult, Site
from pytest_rlperf.model.metric import Metric, Outcome
from pytest_rlperf.model.profile import (
    Cause,
    ComparedLine,
    Count,
    Edit,
    Explanation,
    Function,
    Lines,
    Operator,
    Source,
    Spot,
)
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.profile.report import (
    Place,
    guilty_place,
    render_cause,
    render_explanation,
)
from pytest_rlperf.report.result_file import run_as_dict, run_from
from tests.factories import a_test, run_result, verdict

LEARN = Cause(
    Function("agent.py", "Agent.learn"),
    share=0.72,
    change_ns=1e6,
    calls=Count(10, 10, certain=True),
    time_ratio=1.4,
)


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (LEARN, "72 % of it in agent.py:Agent.learn, calls 1x, time per call 1.4x"),
        (
            replace(LEARN, calls=Count(10, 2000, certain=True), source=Source.CHANGED),
            "72 % of it in agent.py:Agent.learn, calls 10 → 2,000 (certain), time per call 1.4x; "
            "its source changed",
        ),
        (
            replace(LEARN, calls=Count(0, 7.5, certain=False), time_ratio=None),
            "72 % of it in agent.py:Agent.learn, calls 0 → 7.5",
        ),
        (
            replace(LEARN, calls=Count(10, 11, certain=False)),
            "72 % of it in agent.py:Agent.learn, calls about 1.1x, time per call 1.4x",
        ),
        (
            replace(LEARN, callees=(("numpy.ndarray.copy", Count(0, 5, certain=True)),)),
            "72 % of it in agent.py:Agent.learn, calls 1x, time per call 1.4x, calls of "
            "numpy.ndarray.copy 0 → 5 (certain)",
        ),
        (
            replace(LEARN, compiled=True, inlined=(Function("rules.py", "_step"),)),
            "72 % of it in rules.py:_step, compiled into agent.py:Agent.learn, calls 1x, time per "
            "call 1.4x; by its source, which changed: no profiler looks into compiled code",
        ),
    ],
)
def test_a_cause_says_how_much_where_and_by_which_evidence(cause: Cause, text: str):
    assert render_cause(cause) == text


def test_nobody_is_blamed_without_a_reason_why_not():
    lines = render_explanation(Explanation(pairs=6, change=0.004, note="nothing took longer"))
    assert lines == [
        "  profile: nothing took longer; +0.40 % under the profiler, in 6 pairs of processes"
    ]


def test_waiting_is_said():
    lines = render_explanation(Explanation((LEARN,), 6, 0.5, computing=0.02))
    assert "it waits for 98.0 % of its time, in sleep, I/O or locks" in lines[0]


def test_lines_of_both_sides_stand_in_one_table():
    lines = Lines(
        "f",
        (
            ComparedLine(3, "def f():", 0, None, None),
            ComparedLine(None, "    y = x", 2, 1500.0, None),
            ComparedLine(4, "    y = x.copy()", 2, None, 3000.0),
        ),
    )
    assert render_explanation(Explanation((), 6, 0.5, lines=lines))[1:] == [
        "  lines of f, with what they call, a call of the test:",
        "    line  hits  base    head  source",
        "    3                         def f():",
        "    -     2     1.5 µs            y = x",
        "    4     2             3 µs      y = x.copy()",
    ]


def test_operators_of_torch_stand_below_the_functions():
    product = Operator("aten::mm", 4, 6, 1.2e6, 1.8e6)
    quicker = Operator("aten::relu", 2, 2, 9e3, 3e3)
    explanation = Explanation((LEARN,), 6, 0.5, operators=(product, quicker))
    assert render_explanation(explanation)[2:] == [
        "    torch's aten::mm 1.2 ms → 1.8 ms a call of the test, calls 4 → 6",
        "    torch's aten::relu 9 µs → 3 µs a call of the test",
    ]
    content = run_as_dict(run_result(a_test(explanation=explanation)), 0)
    data = content["tests"][0]["profile"]
    assert data["operators"][0]["name"] == "aten::mm"
    assert run_from(content).tests[0].explanation == explanation
    del data["operators"]  # as in older results
    assert run_from(content).tests[0].explanation == replace(explanation, operators=())


EDITS = (
    Edit(Function("agent.py", "Agent.learn"), Spot("agent.py", 7), ("-    a = 1", "+    a = 2")),
    Edit(Function("agent.py", "Agent.act"), None),
)


def test_what_was_edited_comes_before_what_a_profile_estimates():
    shown = render_explanation(Explanation((LEARN,), 6, 0.5, edits=EDITS))
    assert shown[:3] == [
        "  changed: the source of agent.py:Agent.learn, agent.py:Agent.act",
        "    -    a = 1",
        "    +    a = 2",
    ]


def test_an_edit_without_another_difference_is_said_to_be_alone():
    shown = render_explanation(Explanation(pairs=6, note="nobody", edits=EDITS[:1], sole=True))
    assert shown[0] == "  changed: agent.py:Agent.learn, and nothing else that it runs"


def test_many_edits_are_counted_and_a_long_diff_is_for_the_page():
    many = tuple(Edit(Function("agent.py", f"f{n}"), None, ("+ a",) * 20) for n in range(5))
    shown = render_explanation(Explanation(pairs=6, edits=many))
    assert shown[0] == "  changed: the source of agent.py:f0, agent.py:f1, agent.py:f2 and 2 more"
    assert "profile:" in shown[1]


def test_edits_are_read_back_and_older_results_have_none():
    explanation = Explanation((LEARN,), 6, 0.5, edits=EDITS[:1], sole=True)
    content = run_as_dict(run_result(a_test(explanation=explanation)), 0)
    assert run_from(content).tests[0].explanation == explanation
    data = content["tests"][0]["profile"]
    del data["edits"], data["sole"]
    assert run_from(content).tests[0].explanation == replace(explanation, edits=(), sole=False)


def test_programs_get_the_same():
    test = a_test(explanation=Explanation((replace(LEARN, source=Source.SAME),), 6, 0.5))
    data = run_as_dict(run_result(test), 0)["tests"][0]["profile"]
    assert data["functions"][0]["function"] == "Agent.learn"
    assert data["functions"][0]["source_changed"] is False
    assert data["functions"][0]["calls"] == {"base": 10, "head": 10, "certain": True}
    assert (data["pairs"], data["flame_graph"], data["lines"]) == (6, None, None)


# -- which line is blamed for a regression, and when none is ------------------------------------


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


@pytest.mark.parametrize(("sole", "place"), [(True, Place(Path("agent.py"), 7)), (False, None)])
def test_where_nobody_is_blamed_it_is_the_only_edit_that_the_test_meets(
    sole: bool, place: Place | None
):
    test = a_test(explanation=Explanation(pairs=6, edits=EDITS[:1], sole=sole))
    assert guilty_place(test, TREE) == place


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
    metric = Metric(name, verdict(Outcome.REGRESSED), head=(1.0,), value=1.0)
    evidence = Evidence(sites=tuple(Site(where, 10, 1) for where in sites))
    return a_test(beside=(metric,), memory=MemoryResult(20, head=evidence))


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
