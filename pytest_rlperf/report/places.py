"""The line that a regression is shown at: the one that made it, where the evidence names it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pytest_rlperf.model.memory import Rule
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.model.why import Cause, ComparedLine, Explanation, Source

GROWING = frozenset({Rule.GROWTH, Rule.RESIDENT_GROWTH})


class Place(NamedTuple):
    """A line of the tree."""

    file: Path
    line: int | None  # from 1 on


def guilty_place(test: TestResult, folder: str) -> Place | None:
    """None: nobody is blamed. `folder` is where the tree lies."""
    if test.explanation is not None and (found := _blamed(test.explanation)):
        return found
    return next(_left_behind(test, folder), None)


def _blamed(explanation: Explanation) -> Place | None:
    """In a function that was edited, if one of them was: others may just be called more often."""
    found = sorted((c for c in explanation.causes if c.at), key=lambda cause: not _edited(cause))
    if not found or found[0].at is None:
        return None
    cause, at = found[0], found[0].at
    return Place(Path(at.file), _slowest(explanation, cause) or at.line)


def _edited(cause: Cause) -> bool:
    return cause.source is Source.CHANGED or bool(cause.inlined)


def _slowest(explanation: Explanation, cause: Cause) -> int | None:
    """Where the lines of this function were timed, the one that took longer by most."""
    lines = explanation.lines
    if lines is None or lines.function != str(cause.function):
        return None
    here = [line for line in lines.lines if line.number is not None and _added_ns(line) > 0]
    return max(here, key=_added_ns).number if here else None


def _added_ns(line: ComparedLine) -> float:
    return (line.head_ns or 0.0) - (line.base_ns or 0.0)


def _left_behind(test: TestResult, folder: str) -> Iterator[Place]:
    """Lines whose allocations outlive the calls, where that is what regressed. A peak is of many
    lines, and the largest need not be the new one.
    """
    memory = test.memory
    if memory is None or not folder:
        return
    if any(found.metric.rule in GROWING for found in memory.of(Outcome.REGRESSED)):
        for site in memory.head.sites:
            file, _, line = site.where.rpartition(":")
            if Path(file).is_relative_to(folder) and line.isdecimal():
                yield Place(Path(file), int(line))
