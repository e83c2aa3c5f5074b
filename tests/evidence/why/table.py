"""The records as a table."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rlperf.model.quantity import format_percent

from .records import SAME, Record
from .slowdowns import slowdowns


def render(records: Sequence[Record]) -> str:
    slowed = [record for record in records if record.name != SAME]
    same = [record for record in records if record.name == SAME]
    rows = [
        "| slowdown | by the gate | under the profiler | named first | |",
        "|---|---|---|---|---|",
        *(_row(record) for record in slowed),
        "",
        f"The cause was named first in {_right(slowed)} of {len(slowed)} slowdowns. "
        f"Of {len(same)} profiles of unchanged code {_right(same)} blamed nobody.",
    ]
    return "\n".join(rows) + "\n"


def _row(record: Record) -> str:
    first = f"`{record.blamed[0]}`" if record.blamed else f"nobody: {record.note}"
    word = "right" if record.right else "**wrong**"
    known = {slowdown.name: slowdown.slower for slowdown in slowdowns()}
    changes = [_change(known.get(record.name)), _change(record.profiled_change)]
    return f"| {record.name} | {' | '.join(changes)} | {first} | {word} |"


def _change(change: float | None) -> str:
    return "" if change is None else format_percent(change)


def _right(records: Sequence[Record]) -> int:
    return sum(record.right for record in records)
