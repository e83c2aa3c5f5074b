"""Two results side by side, as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_rlperf.judge.side_by_side import Difference, Fact, SideBySide
from pytest_rlperf.launch.revision import SHORT
from pytest_rlperf.model.quantity import format_percent, format_rate, format_time
from pytest_rlperf.report.columns import aligned

NO_VERDICT = (
    "These are two runs at two moments: the change holds whatever else was different then, and is "
    "no verdict. For one, compare with a revision (--rlperf-against) or a stored baseline."
)


def render_run(name: str, path: str, result: Mapping[str, Any]) -> str:
    """Which result stands under A or B."""
    parts = [path, str(result["created"])]
    if commit := result.get("commit"):
        changes = " with uncommitted changes" if result.get("dirty") else ""
        parts.append(f"commit {str(commit)[:SHORT]}{changes}")
    if against := result.get("against"):
        parts.append(f"judged against {against}")
    return f"{name}: {', '.join(parts)}"


def render_side_by_side(found: SideBySide) -> list[str]:
    lines: list[str] = []
    if found.facts:
        lines += ["DIFFERENT CONDITIONS: a change below may come from these alone", *_facts(found)]
    if found.differences:
        lines += ["", *_table(found.differences)]
    lines += [""] if found.only_a or found.only_b or found.edited else []
    lines += [f"only in A: {nodeid}" for nodeid in found.only_a]
    lines += [f"only in B: {nodeid}" for nodeid in found.only_b]
    lines += [f"not the same test any more: {nodeid}" for nodeid in found.edited]
    lines += ["", NO_VERDICT if found.compared else "NOTHING WAS COMPARED: nothing is in both."]
    return lines


def _facts(found: SideBySide) -> Iterator[str]:
    return (f"  {fact.name}: {_known(fact, 'A')}, {_known(fact, 'B')}" for fact in found.facts)


def _known(fact: Fact, side: str) -> str:
    value = fact.a if side == "A" else fact.b
    return f"unknown in {side}" if value is None else f"{value} in {side}"


def _table(differences: Sequence[Difference]) -> list[str]:
    head = ["metric", "A", "B", "change", "verdict in A", "in B", "test"]
    return aligned([head, *map(_row, differences)])


def _row(found: Difference) -> list[str]:
    return [
        found.metric,
        _quantity(found.a, found.unit),
        _quantity(found.b, found.unit),
        "" if found.change is None else format_percent(found.change),
        found.outcome_a.replace("_", " "),
        found.outcome_b.replace("_", " "),
        found.nodeid,
    ]


def _quantity(value: float | None, unit: str | None) -> str:
    if value is None:
        return "not measured"
    if unit == "ns":
        return format_time(value)
    return f"{format_rate(value)} {unit or ''}".rstrip()
