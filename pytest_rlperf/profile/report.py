"""What the profiles say about a change, as text, and the line that is to blame."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_rlperf.model.metric import Outcome, Rule
from pytest_rlperf.model.profile import (
    Cause,
    ComparedLine,
    Count,
    Explanation,
    Lines,
    Operator,
    Source,
)
from pytest_rlperf.model.quantity import format_percent, format_time
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.text import Rows, aligned

WAITS_BELOW = 0.5
"""A test that computes for less of its time than this is said to wait."""
MOST = 2
"""The number of callees that are named with a function."""
MOST_EDITED = 3
"""The number of functions that are named because their source changed."""
SHORT_DIFF = 12
"""The lines of a diff that a terminal shows; the page shows longer ones."""


def render_explanation(explanation: Explanation) -> list[str]:
    lines = []
    if explanation.edits:
        lines.append(f"  changed: {render_edits(explanation)}")
        lines += [f"    {line}" for line in _short_diff(explanation)]
    lines.append(f"  profile: {render_profile(explanation)}")
    lines += [f"    {render_cause(cause)}" for cause in explanation.causes]
    lines += [f"    {render_operator(operator)}" for operator in explanation.operators]
    if explanation.graph is not None:
        lines.append(f"  flame graph: {_near(explanation.graph)}")
    if explanation.lines is not None:
        lines += _render_lines(explanation.lines)
    return lines


def render_edits(explanation: Explanation) -> str:
    """Return the functions that ran and whose source changed: a fact, where a profile estimates."""
    names = [str(edit.function) for edit in explanation.edits]
    more = f" and {len(names) - MOST_EDITED} more" if len(names) > MOST_EDITED else ""
    named = ", ".join(names[:MOST_EDITED]) + more
    if explanation.sole:
        return f"{named}, and nothing else that it runs"
    return f"the source of {named}"


def _short_diff(explanation: Explanation) -> tuple[str, ...]:
    """Return the diff of the first function, where it is short."""
    diff = explanation.edits[0].diff
    return diff if len(diff) <= SHORT_DIFF else ()


def _near(file: Path) -> str:
    """Return the path from this folder on, or the whole of one that lies elsewhere."""
    path = os.path.relpath(file)
    return str(file) if path.startswith(os.pardir) else path


def render_profile(explanation: Explanation) -> str:
    """Return how a test was profiled, and what there is to say beside the functions."""
    parts = [explanation.note] if explanation.note is not None else []
    if explanation.change is not None:
        parts.append(
            f"{format_percent(explanation.change)} under the profiler, in {explanation.pairs} "
            "pairs of processes"
        )
    if explanation.computing < WAITS_BELOW:
        waiting = format_percent(1 - explanation.computing, signed=False)
        parts.append(f"it waits for {waiting} of its time, in sleep, I/O or locks")
    return "; ".join(parts)


def render_cause(cause: Cause) -> str:
    """Return "72 % of it in a.py:learn, calls 1.0x, time per call 1.4x"."""
    parts = [f"{cause.share:.0%} of it in {_where(cause)}".replace("%", " %", 1)]
    parts.append(f"calls {render_count(cause.calls)}")
    if cause.time_ratio is not None:
        parts.append(f"time per call {cause.time_ratio:.3g}x")
    parts += [f"calls of {name} {render_count(count)}" for name, count in cause.callees[:MOST]]
    evidence = _evidence(cause)
    return ", ".join(parts) + (f"; {evidence}" if evidence else "")


def cause_rows(causes: Sequence[Cause]) -> Rows:
    """Return the same as a table."""
    if not causes:
        return []
    titles = ["function", "of the change", "calls", "time per call", "which calls", "evidence"]
    return [titles, *map(_cause_row, causes)]


def _cause_row(cause: Cause) -> list[str]:
    return [
        _where(cause),
        f"{cause.share:.0%}".replace("%", " %"),
        render_count(cause.calls),
        "" if cause.time_ratio is None else f"{cause.time_ratio:.3g}x",
        ", ".join(f"{name} {render_count(count)}" for name, count in cause.callees[:MOST]),
        _evidence(cause),
    ]


def render_operator(operator: Operator) -> str:
    """Return "torch's aten::mm 1.2 ms → 1.8 ms a call of the test, calls 4 → 6"."""
    calls = ""
    if operator.base_calls != operator.head_calls:
        calls = f", calls {_number(operator.base_calls)} → {_number(operator.head_calls)}"
    times = f"{format_time(operator.base_ns)} → {format_time(operator.head_ns)}"
    return f"torch's {operator.name} {times} a call of the test{calls}"


def _where(cause: Cause) -> str:
    if not cause.inlined:
        return str(cause.function)
    return f"{' or '.join(map(str, cause.inlined))}, compiled into {cause.function}"


def _evidence(cause: Cause) -> str:
    if cause.inlined:
        return "by its source, which changed: no profiler looks into compiled code"
    return "its source changed" if cause.source is Source.CHANGED else ""


def render_count(count: Count) -> str:
    if count.changed:
        return f"{_number(count.base)} → {_number(count.head)} (certain)"
    if not count.base:
        return f"{_number(count.base)} → {_number(count.head)}"
    about = "" if count.certain else "about "
    return f"{about}{count.head / count.base:.3g}x"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _render_lines(lines: Lines) -> Iterator[str]:
    yield f"  {render_lines_title(lines)}"
    yield from (f"    {row}" for row in aligned(line_rows(lines)))


def render_lines_title(lines: Lines) -> str:
    if lines.lines:
        return f"lines of {lines.function}, with what they call, a call of the test:"
    return (
        f"lines: {lines.function} did not run as Python code at head; name a function that does "
        "with --rlperf-profile=line:FUNCTION"
    )


def line_rows(lines: Lines) -> Rows:
    if not lines.lines:
        return []
    return [["line", "hits", "base", "head", "source"], *map(_line_row, lines.lines)]


def _line_row(line: ComparedLine) -> list[str]:
    return [
        "-" if line.number is None else str(line.number),
        _number(line.hits) if line.hits else "",
        "" if line.base_ns is None else format_time(line.base_ns),
        "" if line.head_ns is None else format_time(line.head_ns),
        line.text,
    ]


# -- the line that a regression is shown at: the one that made it, where the evidence names it ----

GROWING = frozenset({Rule.GROWTH, Rule.RESIDENT_GROWTH})


class Place(NamedTuple):
    """A line of the tree."""

    file: Path
    line: int | None  # from 1 on


def guilty_place(test: TestResult, folder: str) -> Place | None:
    """Return the line that is blamed, in the tree that lies in `folder`; None: no line is."""
    if test.explanation is not None and (place := _blamed(test.explanation)):
        return place
    return next(_leaking_places(test, folder), None)


def _blamed(explanation: Explanation) -> Place | None:
    """Return a line of the first function that was edited, or else of the first one: those that
    were not edited may just be called more often. Where nobody is blamed, it is that of the only
    edit which the test meets.
    """
    causes = sorted((c for c in explanation.causes if c.at), key=lambda cause: not _edited(cause))
    if not causes or causes[0].at is None:
        sole = explanation.edits[0].at if explanation.sole and explanation.edits else None
        return Place(Path(sole.file), sole.line) if sole else None
    cause, at = causes[0], causes[0].at
    return Place(Path(at.file), _slowest(explanation, cause) or at.line)


def _edited(cause: Cause) -> bool:
    return cause.source is Source.CHANGED or bool(cause.inlined)


def _slowest(explanation: Explanation, cause: Cause) -> int | None:
    """Return the number of the line that took longer by most, where this function's were timed."""
    lines = explanation.lines
    if lines is None or lines.function != str(cause.function):
        return None
    here = [line for line in lines.lines if line.number is not None and added_ns(line) > 0]
    return max(here, key=added_ns).number if here else None


def added_ns(line: ComparedLine) -> float:
    return (line.head_ns or 0.0) - (line.base_ns or 0.0)


def _leaking_places(test: TestResult, folder: str) -> Iterator[Place]:
    """Yield the lines whose allocations outlive the calls, where that is what regressed. A peak is
    of many lines, and the largest need not be the new one.
    """
    memory = test.memory
    if memory is None or not folder:
        return
    regressed = (m for m in test.metrics if m.outcome is Outcome.REGRESSED)
    if any(metric.kind.rule in GROWING for metric in regressed):
        for site in memory.head.sites:
            file, _, line = site.where.rpartition(":")
            if Path(file).is_relative_to(folder) and line.isdecimal():
                yield Place(Path(file), int(line))
