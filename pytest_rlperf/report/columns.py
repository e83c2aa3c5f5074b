"""Tables of plain text."""

from collections.abc import Sequence

Rows = list[list[str]]
"""Titles and rows of a table; nothing at all where there is no row."""


def filled(rows: Sequence[Sequence[str]], first: bool = False) -> Rows:
    """Without the columns in which nothing stands; `first`: the first one stays all the same."""
    if not rows:
        return []
    keep = [c for c in range(len(rows[0])) if (first and c == 0) or any(r[c] for r in rows[1:])]
    return [[row[c] for c in keep] for row in rows]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their widest cell; the last one as it is; empty columns dropped."""
    shown = filled(rows, first=True)
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for row in shown:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return lines
