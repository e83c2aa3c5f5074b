"""What the gate read of known changes, and whether its intervals hold.

Work that is injected into a test is not all of what a test does: processes that start, messages
between ranks and memory that is slow at any rate dilute it. So an interval is held against two
truths: the change that was injected, and what all readings of that kind come to in the mean. Where
the second is held and the first is not, the change is diluted, and the intervals are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import sqrt
from statistics import fmean, stdev

from pytest_rlperf.prove.rates import rate_of

from .records import Record

TITLE = (
    "| case | kind | n | injected | read, with its standard error | interval holds the injected | "
    "holds what is read |\n|---|---|---|---|---|---|---|"
)


def render(records: Sequence[Record]) -> str:
    """Return a row for each case and kind that has intervals."""
    known = [r for r in records if r.verdict.low is not None and r.verdict.high is not None]
    known.sort(key=_group)
    rows = [_row(*group, list(members)) for group, members in groupby(known, _group)]
    return "\n".join([TITLE, *rows]) + "\n"


def _group(record: Record) -> tuple[str, str]:
    return record.case, record.kind


def _row(case: str, kind: str, records: Sequence[Record]) -> str:
    changes = [r.verdict.change for r in records if r.verdict.change is not None]
    read = fmean(changes)
    error = stdev(changes) / sqrt(len(changes)) if len(changes) > 1 else 0.0
    holds = (
        _holding(records, [r.truth for r in records]),
        _holding(records, [read] * len(records)),
    )
    cells = (
        case, kind, str(len(records)), f"{records[0].truth:+.1%}", f"{read:+.2%} ± {error:.2%}",
        *holds,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _holding(records: Sequence[Record], truths: Sequence[float]) -> str:
    held = sum(
        low <= truth <= high
        for r, truth in zip(records, truths, strict=True)
        if (low := r.verdict.low) is not None and (high := r.verdict.high) is not None
    )
    rate = rate_of(held, len(records))
    return f"{held} ({rate.low:.0%} to {rate.high:.0%})"
