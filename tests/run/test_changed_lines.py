"""Which line of an edited function is the one to look at."""

import pytest

from pytest_rlperf.judge.sources import Module
from pytest_rlperf.run.changed_lines import line_to_look_at

BASE = '''\
class Ring:
    def push(self, row):
        """Add a row."""
        # the oldest goes
        self.rows[self.at] = row

        self.at = (self.at + 1) % self.size
'''


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("= row\n", "= row.copy()\n", 5),
        ("self.at + 1", "self.at + 2", 7),
        ("        self.rows[self.at] = row\n", "", 6),
        ("        self.at = (", "        for _ in row:\n            self.at = (", 7),
        ("        self.at = (self.at + 1) % self.size\n", "", 5),
        ("(self, row)", "(self, row, check=True)", 2),
    ],
)
def test_it_is_the_first_that_differs(old: str, new: str, line: int):
    assert line_to_look_at(Module(BASE.replace(old, new)), Module(BASE), "Ring.push") == line


@pytest.mark.parametrize(
    ("old", "new"),
    [("Add a row.", "Add one.\n\n        Always."), ("# the oldest goes\n", "\n"), ("", "")],
)
def test_words_and_blank_lines_are_no_code(old: str, new: str):
    assert line_to_look_at(Module(BASE.replace(old, new)), Module(BASE), "Ring.push") == 2


def test_a_line_that_moved_into_a_loop_differs():
    base = "def f(rows):\n    for row in rows:\n        a(row)\n    b(rows)\n"
    assert line_to_look_at(Module(base.replace("    b", "        b")), Module(base), "f") == 4


@pytest.mark.parametrize("base", [None, Module("def other(): ...\n")])
def test_a_new_function_begins_where_it_begins(base: Module | None):
    assert line_to_look_at(Module(BASE), base, "Ring.push") == 2


def test_what_is_not_there_has_no_line():
    assert line_to_look_at(Module(BASE), Module(BASE), "Ring.pop") is None
