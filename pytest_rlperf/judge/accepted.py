"""Regressions that the project accepts for a while: shown as such, and judged again afterwards."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_rlperf.model.exemption import Exemption
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.verdict import Outcome, Verdict


def with_accepted(
    tests: Iterable[TestResult], entries: Sequence[Exemption], today: datetime.date
) -> tuple[TestResult, ...]:
    return tuple(_with_accepted(test, entry_for(test.nodeid, entries), today) for test in tests)


def _with_accepted(test: TestResult, entry: Exemption | None, today: datetime.date) -> TestResult:
    extras = tuple(
        replace(extra, verdict=accepted_verdict(extra.verdict, entry, today))
        for extra in test.extras
    )
    verdict = accepted_verdict(test.verdict, entry, today)
    test = replace(test, verdict=verdict, extras=extras)
    if test.memory is None:
        return test
    metrics = tuple(
        replace(found, verdict=accepted_verdict(found.verdict, entry, today))
        for found in test.memory.metrics
    )
    return replace(test, memory=replace(test.memory, metrics=metrics))


def entry_for(nodeid: str, entries: Iterable[Exemption]) -> Exemption | None:
    """The one that names the test itself comes before patterns, and of those the first."""
    matching = [entry for entry in entries if entry.matches(nodeid)]
    exact = (entry for entry in matching if entry.pattern == nodeid)
    return next(exact, next(iter(matching), None))


def accepted_verdict(verdict: Verdict, entry: Exemption | None, today: datetime.date) -> Verdict:
    """A regression within what the entry allows is a pass of its own name; any other keeps its
    verdict, which then says why the entry did not help."""
    if verdict.outcome is not Outcome.REGRESSED or entry is None:
        return verdict
    if today > entry.until:
        return replace(
            verdict,
            reason=f"{verdict.reason}; it was accepted until {entry.until} only ({entry.reason}): "
            "mend it, or renew the entry in [tool.rlperf.accepted]",
        )
    if _exceeds(verdict, entry.allowed):
        return replace(
            verdict,
            reason=f"{verdict.reason}; more than the {format_percent(entry.allowed or 0)} that are "
            f"accepted until {entry.until} ({entry.reason})",
        )
    return replace(
        verdict,
        outcome=Outcome.ACCEPTED,
        reason=f"{verdict.reason}, but accepted until {entry.until}: {entry.reason}",
    )


def _exceeds(verdict: Verdict, allowed: float | None) -> bool:
    """Beyond doubt: the whole interval lies above."""
    if allowed is None or verdict.interval is None:
        return False
    return verdict.interval.low > allowed


def stale_entries(
    entries: Iterable[Exemption], nodeids: Sequence[str], today: datetime.date
) -> list[str]:
    """A sentence for each entry that has no test or no time left; `nodeids` are those of the whole
    suite."""
    lines = []
    for entry in entries:
        where = f"[tool.rlperf.accepted], {entry.pattern!r}"
        if not any(entry.matches(nodeid) for nodeid in nodeids):
            lines.append(f"{where}: no collected test matches it; correct or remove it.")
        elif today > entry.until:
            lines.append(f"{where}: it ended on {entry.until}; remove it.")
    return lines
