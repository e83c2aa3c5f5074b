"""Lines of a function on both sides, matched by their text."""

from pytest_rlperf.judge.lines import compare_lines
from pytest_rlperf.model.profile import LineCost, LineProfile


def profile(first: int, source: str, **ns: float) -> LineProfile:
    """`l0=100` is the first line's time."""
    lines = {first + int(name[1:]): LineCost(2, value) for name, value in ns.items()}
    return LineProfile(first, tuple(source.splitlines()), lines)


BASE = "def f(x):\n    y = x\n    return y"
HEAD = "def f(x):\n    y = x.copy()\n    return y"


def test_equal_lines_meet_though_their_numbers_moved():
    found = compare_lines("f", [profile(20, BASE, l1=30, l2=5)], [profile(10, BASE, l1=20, l2=5)])
    assert [(line.number, line.base_ns, line.head_ns) for line in found.lines] == [
        (20, None, None),
        (21, 20, 30),
        (22, 5, 5),
    ]


def test_a_line_that_changed_stands_twice():
    found = compare_lines("f", [profile(1, HEAD, l1=30)], [profile(1, BASE, l1=20)])
    assert [(line.text.strip(), line.base_ns, line.head_ns) for line in found.lines[1:3]] == [
        ("y = x", 20, None),
        ("y = x.copy()", None, 30),
    ]


def test_processes_are_averaged():
    heads = [profile(1, BASE, l1=ns) for ns in (10, 20, 30)]
    assert compare_lines("f", heads, [profile(1, BASE)]).lines[1].head_ns == 20


def test_a_function_that_never_ran_has_no_lines():
    assert compare_lines("f", [], [profile(1, BASE, l1=1)]).lines == ()
