"""How a function of another project is made slower, and what the table says of it."""

import ast
from dataclasses import asdict, replace

import pytest

from tests import schema_lines
from tests.evidence.projects.__main__ import (
    NOTHING,
    PROJECTS,
    SCHEMA,
    Record,
    from_line,
    render,
    slowed,
)

SOURCE = '''
from typing import overload

class Ring:
    """A ring."""

    @overload
    def get(self, key: str) -> str: ...

    def get(self, key: str) -> str:
        """Return it."""
        return key

def alone():
    return 1
'''


@pytest.mark.parametrize(
    ("function", "line"), [("Ring.get", "        return key"), ("alone", "    return 1")]
)
def test_a_loop_comes_before_the_first_statement(function: str, line: str):
    text = slowed(SOURCE, function, 7)
    ast.parse(text)
    lines = text.splitlines()
    indent = " " * (len(line) - len(line.lstrip()))
    assert lines[lines.index(line) - 1] == f"{indent}for _ in range(7): pass"
    assert len(lines) == len(SOURCE.splitlines()) + 1


SAME = Record(
    project="ring",
    commit="abc",
    slowed=NOTHING,
    loops=0,
    outcomes={"unchanged": 3, "inconclusive": 1},
    wrong=(),
    hot=None,
    hot_change=None,
    regressed=0,
    profiled=0,
    edited=0,
    seconds=10.4,
    budget_s=300.0,
    code=0,
    load=0.1,
    date="2026-11-18",
    python="3.11.7",
)
SLOWER = replace(
    SAME, slowed="ring.py:Ring.get", loops=7, outcomes={"regressed": 1, "same_code": 3},
    hot="regressed", hot_change=0.1, regressed=1, profiled=1, edited=1, code=1,
)  # fmt: skip


def test_records_are_read_back():
    assert from_line(schema_lines.to_line(SCHEMA, asdict(SLOWER))) == SLOWER


def test_the_table_counts_what_was_called_and_named():
    wrong = replace(SAME, wrong=("tests/test_ring.py::test_get",))
    shown = render([wrong, SLOWER])
    assert "| ring | nothing |  | 4 | 1 | 1 |  | 10 of 300 |" in shown
    assert (
        "| ring | ring.py:Ring.get | regressed +10.0% | 4 | 0 | 0 | 1 and 1 of 1 | 10 of 300 |"
        in shown
    )
    assert (
        "1 of 1 slowdowns called; the right function named by the profile in 1, by its source in 1."
        in shown
    )
    assert shown.endswith("1 of 8 verdicts wrong.\n")


def test_every_project_has_two_slowdowns():
    assert len({str(slow) for project in PROJECTS for slow in project.slow}) == 2 * len(PROJECTS)
