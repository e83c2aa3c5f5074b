"""What the profiles of a test said."""

from pathlib import Path
from typing import Any

from pytest_rlperf.model.profile import Function
from pytest_rlperf.model.why import (
    Cause,
    ComparedLine,
    Count,
    Explanation,
    Lines,
    Operator,
    Source,
    Spot,
)

Row = dict[str, Any]
SOURCES = {True: Source.CHANGED, False: Source.SAME, None: Source.UNKNOWN}


def explanation_from(row: Row) -> Explanation:
    graph = row["flame_graph"]
    return Explanation(
        causes=tuple(map(_cause, row["functions"])),
        pairs=row["pairs"],
        change=row["change"],
        computing=row["computing"],
        note=row["note"],
        graph=None if graph is None else Path(graph),
        lines=None if row["lines"] is None else _lines(row["lines"]),
        operators=tuple(Operator(**each) for each in row.get("operators", ())),  # not in older ones
    )


def _cause(row: Row) -> Cause:
    return Cause(
        function=Function(row["file"], row["function"]),
        share=row["share"],
        change_ns=row["change_ns"],
        calls=_count(row["calls"]),
        time_ratio=row["time_ratio"],
        callees=tuple((name, _count(count)) for name, count in row["callees"].items()),
        source=SOURCES[row["source_changed"]],
        compiled=row["compiled"],
        inlined=tuple(map(_function, row["inlined"])),
        at=None if row.get("at") is None else Spot(**row["at"]),  # older results have none
    )


def _count(row: Row) -> Count:
    return Count(row["base"], row["head"], row["certain"])


def _function(text: str) -> Function:
    """A file's name may hold a colon, a function's does not."""
    file, _, name = text.rpartition(":")
    return Function(file, name)


def _lines(row: Row) -> Lines:
    return Lines(row["function"], tuple(map(_line, row["lines"])))


def _line(row: Row) -> ComparedLine:
    return ComparedLine(row["line"], row["text"], row["hits"], row["base_ns"], row["head_ns"])
