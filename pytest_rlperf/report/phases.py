"""The phases of tests as text and as data."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from pytest_rlperf.model.phase import PhaseResult
from pytest_rlperf.model.quantity import format_percent, format_time
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.columns import Rows, aligned
from pytest_rlperf.report.intervals import render_interval
from pytest_rlperf.report.words import time_title


def render_phase_table(run: RunResult) -> list[str]:
    return aligned(phase_rows(run.tests, run.against))


def phase_rows(tests: Iterable[TestResult], against: str | None) -> Rows:
    """Test by test, the largest phase first."""
    rows = [_row(phase, test) for test in tests for phase in test.phases]
    title = ["", "phase", "share", "adds", "95 % interval", time_title(against), "test"]
    return [title, *rows] if rows else []


def _row(phase: PhaseResult, test: TestResult) -> list[str]:
    return [
        "moved" if phase.moved else "",
        phase.name,
        _between(phase.base_share, phase.share, _share),
        format_percent(phase.adds.change) if phase.adds else "",
        render_interval(phase.adds) if phase.adds else "",
        _between(phase.base_ns, phase.ns, format_time),
        test.nodeid,
    ]


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _between(base: float | None, head: float, shown: Callable[[float], str]) -> str:
    return shown(head) if base is None else f"{shown(base)} → {shown(head)}"


def render_moved(test: TestResult) -> Iterator[str]:
    """For a failure: the phases that made the test slower or faster, most first."""
    moved = [(p.adds, p.name) for p in test.phases if p.moved and p.adds is not None]
    moved.sort(key=lambda each: -abs(each[0].change))
    if moved:
        parts = [f"{name} adds {format_percent(adds.change)}" for adds, name in moved]
        yield f"  phases: {', '.join(parts)} of the whole call"


def phases_as_dicts(test: TestResult) -> list[dict[str, Any]]:
    return [_as_dict(phase) for phase in test.phases]


def _as_dict(phase: PhaseResult) -> dict[str, Any]:
    found = asdict(phase)
    adds = found.pop("adds") or {"change": None, "low": None, "high": None}
    return {**found, **adds}
