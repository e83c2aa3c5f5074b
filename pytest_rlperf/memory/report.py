"""Memory in the machine-readable result: a row for every metric, and the evidence beside them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pytest_rlperf.model.memory import Evidence, MemoryResult, MetricResult, Site
from pytest_rlperf.model.metric import WORST_FIRST, Interval, Outcome
from pytest_rlperf.model.quantity import format_bytes, format_percent, format_time
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.metrics import metric_row
from pytest_rlperf.report.text import WORDS, Rows, aligned

UPPER_BOUND = "upper bound: the sum of the peaks of several processes"
INEXACT = "peaks before the calls included: the kernel's mark cannot be set back here"


def memory_as_dict(memory: MemoryResult | None) -> dict[str, Any] | None:
    """None: it was not asked for."""
    if memory is None:
        return None
    return {
        "repeats": memory.repeats,
        "trouble": memory.trouble.reason if memory.trouble else None,
        "trouble_outcome": memory.trouble.outcome.value if memory.trouble else None,
        "head": asdict(memory.head),
        "base": asdict(memory.base) if memory.base else None,
    }


def memory_metrics(memory: MemoryResult | None) -> list[dict[str, Any]]:
    return [_row(found, memory.head) for found in memory.metrics] if memory else []


def _row(found: MetricResult, evidence: Evidence) -> dict[str, Any]:
    return metric_row(
        found.metric.name,
        found.metric.unit,
        found.verdict,
        value=found.value,
        base_value=found.base_value,
        head=found.head,
        base=found.base,
        amount=found.amount,
        threshold_abs=found.threshold_abs,
        label=render_label(found, evidence),
    )


def render_label(found: MetricResult, evidence: Evidence) -> str | None:
    """How the number came about, where that matters."""
    if found.metric.name != "peak_rss":
        return None
    labels = [UPPER_BOUND] if evidence.is_upper_bound else []
    labels += [] if evidence.exact else [INEXACT]
    return "; ".join(labels) or None


# The memory of tests as text.


QUIET = frozenset({Outcome.UNCHANGED, Outcome.SHOWN})
ALWAYS = frozenset({"peak_rss", "traced_peak"})
LISTED = 6
"""More processes or lines than these are not named."""


def render_memory_table(run: RunResult) -> list[str]:
    """One line a metric, worst first, then the reasons that numbers do not show."""
    return [*aligned(memory_rows(run.tests)), *_remarks(run)]


def memory_rows(tests: Iterable[TestResult]) -> Rows:
    """The peaks of every test, and of the other metrics what is not plainly all right."""
    rows = [
        (found, test)
        for test in tests
        for found in (test.memory.metrics if test.memory and test.failure is None else ())
        if found.metric.name in ALWAYS or found.verdict.outcome not in QUIET | {Outcome.NO_BASELINE}
    ]
    rows.sort(key=lambda row: WORST_FIRST.index(row[0].verdict.outcome))
    title = ["", "memory", "change", "95 % interval", "base → head", "processes", "test"]
    return [title, *(_text_row(*row) for row in rows)] if rows else []


def _text_row(found: MetricResult, test: TestResult) -> list[str]:
    v = found.verdict
    change = v.interval.change if v.interval else None
    return [
        WORDS[v.outcome],
        found.metric.name,
        "" if change is None else format_percent(change),
        render_interval_of(found),
        render_sizes(found),
        str(len(found.head)),
        test.nodeid,
    ]


def render_interval_of(found: MetricResult) -> str:
    """In bytes; empty where nothing was compared."""
    return _amounts(found.amount) if found.amount else ""


def _amounts(amount: Interval) -> str:
    return f"[{_signed(amount.low)}, {_signed(amount.high)}]"


def _signed(size: float) -> str:
    return f"{'-' if size < 0 else '+'}{format_bytes(abs(size))}"


def render_sizes(found: MetricResult) -> str:
    head = _size(found.value, found.metric.unit)
    if found.base_value is None:
        return head
    return f"{_size(found.base_value, found.metric.unit)} → {head}"


def _size(value: float, unit: str) -> str:
    match unit:
        case "bytes":
            return format_bytes(value)
        case "bytes/repeat":
            return f"{format_bytes(value)} a repeat"
        case "ns":
            return format_time(value)
        case _:
            return f"{value:,.0f} {unit}"


def _remarks(run: RunResult) -> Iterator[str]:
    return (f"{test.nodeid}: {said}" for test in run.tests for said in memory_remarks(test))


def memory_remarks(test: TestResult) -> Iterator[str]:
    """What the numbers of one test do not show."""
    if test.memory is None or test.failure is not None:
        return
    if test.memory.trouble is not None and test.skipped is None:
        trouble = test.memory.trouble
        yield f"memory {WORDS[trouble.outcome]}: {trouble.reason}"
    for found in test.memory.of(Outcome.INCONCLUSIVE, Outcome.INCOMPARABLE, Outcome.ACCEPTED):
        v = found.verdict
        yield f"{found.metric.name} {WORDS[v.outcome]}: {v.reason}"


def render_memory_failure(test: TestResult, against: str | None) -> list[str]:
    """The lines of a failing test: what grew, by how much, and where."""
    memory = test.memory
    if memory is None or test.failure is not None:
        return []
    lines = []
    for found in memory.of(Outcome.REGRESSED):
        lines += _failure(found, memory, against)
    if lines:
        lines += [f"  {line}" for line in render_memory_evidence(memory)]
    return lines


def _failure(found: MetricResult, memory: MemoryResult, against: str | None) -> list[str]:
    v = found.verdict
    severity = f" ({v.severity.value})" if v.severity else ""
    change = f" {format_percent(v.interval.change)}" if v.interval else ""
    amount = f" {_amounts(found.amount)}" if found.amount else ""
    label = render_label(found, memory.head)
    return [
        f"{WORDS[v.outcome]}{severity}: {found.metric.name}{change}{amount} "
        f"against {against or 'the baseline'}",
        f"  why: {v.reason}",
        f"  {found.metric.name}: {render_sizes(found)}, {len(found.head)} processes of "
        f"{memory.repeats} calls" + (f" ({label})" if label else ""),
    ]


def render_memory_evidence(memory: MemoryResult) -> Iterator[str]:
    """What holds head's memory."""
    head = memory.head
    if len(head.processes) > 1:
        yield f"processes: {_named([(p.name, p.peak_bytes) for p in head.processes])}"
    if head.segments:
        yield f"shared memory: {_named([(s.name, s.peak_bytes) for s in head.segments])}"
    if head.left:
        yield f"left in /dev/shm: {', '.join(head.left[:LISTED])}"
    if head.sites:
        yield f"held after the calls: {_lines(head.sites)}"
    if head.peak_sites:
        yield f"at the peak: {_lines(head.peak_sites)} (memray)"


def _lines(sites: Sequence[Site]) -> str:
    return _named([(site.where, site.size_bytes) for site in sites])


def _named(sizes: Sequence[tuple[str, int]]) -> str:
    more = len(sizes) - LISTED
    named = ", ".join(f"{name} ({format_bytes(size)})" for name, size in sizes[:LISTED])
    return named + (f" and {more} more" if more > 0 else "")
