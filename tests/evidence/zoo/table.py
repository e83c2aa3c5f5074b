"""What the gate said of known changes, beside what two rules of thumb would have said.

The rules see the same trainings: *three seeds above a line* fails where one of the first three of
head lies below the line, which is a tenth below the mean of the base; *Welch's t* fails where the
first five seeds of either side differ at 5 %, head being worse.
"""

from __future__ import annotations

import statistics
import warnings
from collections import Counter
from collections.abc import Sequence

from scipy import stats  # type: ignore[import-untyped]

from tests.evidence.zoo.changes import Kind
from tests.evidence.zoo.run import Record

CAUGHT = "regressed"
LINE = 0.9
LEVEL = 0.05
TITLES = {
    Kind.BUG: "mistakes",
    Kind.DRAWS: "other draws of the same skill",
    Kind.REFACTORING: "refactorings",
}


def render(records: Sequence[Record]) -> str:
    """Return a line a mistake, a line for each kind of change, and where they come from."""
    return "\n".join([*_bugs(records), "", *_kinds(records), "", *_origins(records)]) + "\n"


def _origins(records: Sequence[Record]) -> list[str]:
    """Return machine, date, versions and commit of the records, and how many are from there."""
    rows = Counter(
        f"{r.machine}, {r.cores} cores; {r.date}; {r.versions}; commit {r.commit}" for r in records
    )
    return [f"<sub>{number} of {origin}.</sub>" for origin, number in rows.items()]


def _bugs(records: Sequence[Record]) -> list[str]:
    head = ["mistake", "gate", "said", "change", "seeds", "seconds", "three seeds", "Welch's t"]
    rows = [
        [
            record.name,
            record.gate,
            record.outcome,
            _change(record),
            str(record.seeds),
            f"{record.seconds:.0f}",
            _word(is_below_line(record)),
            _word(differs(record)),
        ]
        for record in records
        if record.kind == Kind.BUG
    ]
    return _table([head, *rows])


def _change(record: Record) -> str:
    """Return the change with its interval, positive where head learns more."""
    if record.change is None or record.low is None or record.high is None:
        return ""
    ends = f"{-100 * record.high:+.0f}, {-100 * record.low:+.0f}"
    return f"{-100 * record.change:+.0f} % [{ends} %]"


def _kinds(records: Sequence[Record]) -> list[str]:
    head = ["change", "n", "the gate called worse", "inconclusive", "identical"]
    rows = []
    for kind, title in TITLES.items():
        own = [record for record in records if record.kind == kind]
        outcomes = [record.outcome for record in own]
        caught = outcomes.count(CAUGHT), outcomes.count("inconclusive")
        seconds = f"{statistics.median(r.seconds for r in own):.0f}" if own else ""
        rules = [str(sum(map(rule, own))) for rule in (is_below_line, differs)]
        counts = [*map(str, caught), str(outcomes.count("identical"))]
        rows.append([title, str(len(own)), *counts, seconds, *rules])
    return _table([[*head, "median seconds", "three seeds", "Welch's t"], *rows])


def is_below_line(record: Record) -> bool:
    """Return whether one of the first three seeds lies more than a tenth below the base."""
    return any(_is_worse(record, value) for value in record.head[:3])


def _is_worse(record: Record, value: float) -> bool:
    mean = statistics.fmean(record.base)
    return value < mean - (1 - LINE) * abs(mean)


def differs(record: Record) -> bool:
    """Return whether Welch's t-test of five seeds a side calls head worse."""
    head, base = record.head[:5], record.base[:5]
    if len(head) < 5:
        return False
    if statistics.pvariance(head) == statistics.pvariance(base) == 0:
        return head[0] < base[0]  # there is no spread to divide by
    with warnings.catch_warnings():  # one side may have learned nothing with every seed: no spread
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.ttest_ind(head, base, equal_var=False, alternative="less")
    return bool(test.pvalue < LEVEL)


def _word(caught: bool) -> str:
    return "caught" if caught else "passed"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    title, *others = (f"| {' | '.join(row)} |" for row in rows)
    return [title, f"|{'---|' * len(rows[0])}", *others]
