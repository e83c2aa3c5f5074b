"""Which suite comes next, so that all cases fill evenly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .cases import Case
from .records import Record


def counted(case: Case, records: Iterable[Record], load: bool) -> int:
    """Verdicts that count towards ``case.wanted``."""
    return sum(
        record.case == case.name
        and record.load == load
        and not record.is_crash
        and record.kind not in case.exempt
        for record in records
    )


def next_case(cases: Sequence[Case], records: Sequence[Record], load: bool) -> Case | None:
    """The case with the smallest share of its verdicts; None when each has its number."""
    shares = [(counted(case, records, load) / case.wanted, case) for case in cases]
    open_shares = [(share, case) for share, case in shares if share < 1]
    return min(open_shares, key=lambda entry: entry[0])[1] if open_shares else None


def suites_run(case: Case, records: Iterable[Record], load: bool) -> int:
    return len({r.suite for r in records if r.case == case.name and r.load == load})


def variant_of(case: Case, suites: int) -> str:
    return case.variants[suites % len(case.variants)]
