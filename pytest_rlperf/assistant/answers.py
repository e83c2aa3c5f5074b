"""Answers as text: short enough for who pays by the word, and without what acts on its reader."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from pytest_rlperf.assistant.snippets import Work
from pytest_rlperf.metrics.within_run import phase_rows, render_drift
from pytest_rlperf.model.metric import Metric, Outcome
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.metrics import (
    render_allowed,
    render_change,
    render_interval_of,
    render_values_of,
)
from pytest_rlperf.report.terminal import render_how, render_witnesses
from pytest_rlperf.report.text import WORDS, aligned, printable, render_interval

MOST_LETTERS = 8000
"""Of an answer: some 2,000 tokens."""
MOST_TESTS = 60
MOST_TERSE = 40
MOST_BLOCKS = 24


def bounded(lines: Sequence[str]) -> str:
    """Return the lines as one text; what is too much is left out before the last line, which is
    the command that repeats it.
    """
    *body, last = map(printable, lines)
    room = MOST_LETTERS - len(last) - 60
    kept: list[str] = []
    for number, line in enumerate(body):
        room -= len(line) + 1
        if room < 0:
            kept.append(f"… {len(body) - number} more lines were left out")
            break
        kept.append(line)
    return "\n".join([*kept, last])


def some_terse(lines: Sequence[str]) -> list[str]:
    """Return the first lines of a terse run, which are the worst, and its counts."""
    if len(lines) <= MOST_TERSE:
        return list(lines)
    return [*lines[: MOST_TERSE - 1], f"… {len(lines) - MOST_TERSE} more lines", lines[-1]]


# -- the numbers of one test --------------------------------------------------------------------


def render_evidence(test: TestResult) -> list[str]:
    """Return all metrics of a test with what each rests on."""
    return [test.nodeid, *_evidence(test)]


def _evidence(test: TestResult) -> Iterator[str]:
    if test.failure is not None:
        yield f"failed: {test.failure.text[-1500:]}"
    if test.skipped is not None:
        yield f"skipped: {test.skipped}"
    for metric in test.metrics:
        yield from _metric(metric)
    if test.blocks and test.plan is not None:
        yield f"measured: {render_how(test)}; {render_witnesses(test)}"
    if test.blocks and (work := test.blocks[-1].head.work):
        yield f"equal work: {', '.join(f'{name} {value:g}' for name, value in work.items())}"
    if drift := render_drift(test.drift):
        yield drift
    if test.phases:
        yield from aligned([row[:-1] for row in phase_rows([test], "base")])
    if test.cost is not None:
        yield f"it took {sum(astuple(test.cost)):.0f} s"


def _metric(metric: Metric) -> Iterator[str]:
    change = " ".join(filter(None, (render_change(metric), render_interval_of(metric))))
    allowed = render_allowed(metric)
    detectable = metric.verdict.detectable
    parts = [
        render_values_of(metric),
        change,
        f"allowed {allowed}" if allowed and change else "",
        "" if detectable is None else f"detects {format_percent(detectable)}",
        f"{len(metric.head)} blocks" if metric.head else "",
    ]
    yield f"{metric.name}: {WORDS[metric.outcome]}: {', '.join(filter(None, parts))}"
    if metric.outcome is not Outcome.SHOWN:
        yield f"  why: {metric.verdict.reason}"
    if metric.block_changes and metric.name == "time":
        shown = ", ".join(map(format_percent, metric.block_changes[:MOST_BLOCKS]))
        yield f"  the change in each block: {shown}"


# -- a referee for optimisations ----------------------------------------------------------------


def render_referee(test: TestResult | None, work: Work) -> list[str]:
    """Return whether `after` is an improvement: beyond doubt by more than the threshold, and with
    equal work.
    """
    if work.equal is False:
        words = "NOT THE SAME WORK, so nothing was measured"
        return [f"{words}: {work.words}", "mend it first: faster and wrong is no improvement"]
    same = "equal" if work.equal else "NOT KNOWN"
    lines = [f"work: {same}: {work.words}"]
    if test is None or test.headline.interval is None:
        return ["verdict: none, since nothing could be compared", *lines]
    interval = test.headline.interval
    told = f"{format_percent(interval.change)} {render_interval(interval)}"
    return [f"verdict: {_ruling(test.headline.outcome, work)} ({told} of time)", *lines]


def _ruling(outcome: Outcome, work: Work) -> str:
    match outcome:
        case Outcome.IMPROVED if work.equal:
            return "after is an improvement: it counts"
        case Outcome.IMPROVED:
            return "after is faster, and counts only once you have shown that it does the same work"
        case Outcome.FASTER:
            return "after is faster, but not surely by more than the threshold: no improvement"
        case Outcome.REGRESSED | Outcome.SLOWER:
            return "after is slower"
        case Outcome.INCONCLUSIVE:
            return "undecided: give it more time by budget_s"
    return "no difference that counts"
