"""What the profiles say, in words."""

from dataclasses import replace

import pytest

from pytest_rlperf.model.profile import Function
from pytest_rlperf.model.why import Cause, ComparedLine, Count, Explanation, Lines, Operator, Source
from pytest_rlperf.report.why import explanation_as_dict, render_cause, render_explanation
from pytest_rlperf.store.read_back.why import explanation_from

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
        "  profile: +0.40 % under the profiler, in 6 pairs of processes; nothing took longer"
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
    data = explanation_as_dict(explanation)
    assert data["operators"][0]["name"] == "aten::mm"
    assert explanation_from(data).operators == (product, quicker)
    del data["operators"]  # as in older results
    assert explanation_from(data).operators == ()


def test_programs_get_the_same():
    data = explanation_as_dict(Explanation((replace(LEARN, source=Source.SAME),), 6, 0.5))
    assert data["functions"][0]["function"] == "Agent.learn"
    assert data["functions"][0]["source_changed"] is False
    assert data["functions"][0]["calls"] == {"base": 10, "head": 10, "certain": True}
    assert (data["pairs"], data["flame_graph"], data["lines"]) == (6, None, None)
