"""Tables of plain text."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their widest cell; the last one as it is; empty columns dropped."""
    keep = [c for c in range(len(rows[0])) if c == 0 or any(row[c] for row in rows[1:])]
    widths = {c: max(len(row[c]) for row in rows) for c in keep}
    lines = []
    for row in rows:
        cells = [row[c].ljust(widths[c]) for c in keep[:-1]]
        lines.append("  ".join([*cells, row[keep[-1]]]).rstrip())
    return lines
