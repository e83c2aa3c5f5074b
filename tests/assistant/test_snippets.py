"""Two snippets become a project with two revisions, and what both return is compared."""

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.assistant.same_results import compared, is_same, main
from pytest_rlperf.assistant.snippets import (
    Snippets,
    committed,
    compared_work,
    write_project,
)
from pytest_rlperf.errors import UsageError
from pytest_rlperf.trees.git import git
from tests.factories import examples


class Mute:
    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth of this is ambiguous")

    __hash__ = None  # type: ignore[assignment]


def returned(module: str, folder: Path) -> Any:
    (folder / "snippet.py").write_text(module)
    return runpy.run_path(str(folder / "snippet.py"))["run"]()


@pytest.mark.parametrize(
    ("code", "setup", "call"),
    [
        ("total = 0\nfor i in range(5):\n    total += i\ntotal", "", ""),
        ("sum(range(n))", "n = 5", ""),
        ("def run():\n    return sum(range(n))", "n = 5", ""),
        ("def f(k):\n    return sum(range(k))", "n = 5", "f(n)"),
        ("text = '''a\nb'''\nlen(text) + 7", "", ""),
        ("return 10", "", ""),
    ],
)
def test_whatever_form_a_snippet_has_it_becomes_a_function(
    code: str, setup: str, call: str, tmp_path: Path
):
    before, after = Snippets(code, code, setup, call).modules()
    assert before == after
    assert returned(after, tmp_path) == 10


@pytest.mark.parametrize(
    ("snippets", "said"),
    [
        (Snippets("x +", "1"), "before is no Python: "),
        (Snippets("1", ""), "after is empty; "),
        (Snippets("1", "1", setup="("), "setup is no Python: "),
        (Snippets("def run(x): pass", "1"), "run of before takes arguments; "),
        (Snippets("def f(): pass", "1"), "before only defines functions; "),
        (Snippets("def f(): pass", "def f(): pass", call="f("), "call is no expression: "),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(snippets: Snippets, said: str):
    with pytest.raises(UsageError, match=rf"^{said}"):
        snippets.modules()


def test_before_is_committed_and_after_is_the_working_tree(tmp_path: Path):
    write_project(Snippets("1 + 1", "2"), tmp_path)
    assert "return 1 + 1" in committed(tmp_path)
    assert "return 2" in (tmp_path / "snippet.py").read_text()
    assert git(tmp_path, "status", "--porcelain") == " M snippet.py\n"


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (1, 1, "equal"),
        ([1, 2.0, {"a": (3,)}], [1, 2.0, {"a": (3,)}], "equal"),
        (0.1 + 0.2, 0.3, "close"),
        ([0.1 + 0.2], [0.3], "close"),
        (math.nan, math.nan, "equal"),
        (1.0, 1.001, "different"),
        ([1, 2], [1, 3], "different"),
        ([1], (1,), "different"),
        ([1], [1, 2], "different"),
        ({"a": 1}, {"b": 1}, "different"),
        (None, None, "unknown"),
        (None, 1, "different"),
        (object(), object(), "unknown"),
        (1, "1", "different"),
        (Mute(), Mute(), "unknown"),
        (np.arange(3), np.arange(3), "equal"),
        (np.array([0.1 + 0.2]), np.array([0.3]), "close"),
        (np.arange(3), np.arange(4), "different"),
        (np.array([1.0]), np.array([2.0]), "different"),
    ],
)
def test_results_are_equal_close_different_or_not_known(before: Any, after: Any, word: str):
    assert compared(before, after).split()[0] == word


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@examples
@given(values, values)
def test_everything_is_the_same_as_itself_and_order_does_not_matter(a: Any, b: Any):
    assert is_same(a, a, exactly=True)
    assert is_same(a, b) == is_same(b, a)


def test_a_side_that_raises_does_not_do_the_same(tmp_path: Path):
    for name, code in (("a.py", "def run(): return 1"), ("b.py", "def run(): return 1 / 0")):
        (tmp_path / name).write_text(code)
    said = main(str(tmp_path / "a.py"), str(tmp_path / "b.py"))
    assert said == "different after raises ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("said", "finished", "equal"),
    [
        ("equal both return 1", True, True),
        ("printed before\nclose both", True, True),
        ("different before returns 1, after 2", True, False),
        ("unknown neither", True, None),
        ("Segmentation fault", True, None),
        ("", True, None),
        ("equal both", False, None),
    ],
)
def test_what_is_not_known_to_be_equal_is_not_called_so(
    said: str, finished: bool, equal: bool | None
):
    assert compared_work(said, finished).equal is equal
