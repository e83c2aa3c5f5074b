"""A run as a few stable lines for logs and programs (`--rlperf-terse`); docs/assistants.md has
their grammar.

A line is `rlperf`, one word, and fields `key=value`. A value that could be taken apart is a string
of JSON. What changes about these lines is new words and new keys: who reads them passes over those
that it does not know.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_rlperf.model.kpi import KpiResult, Status
from pytest_rlperf.model.metric import (
    COMPARED,
    TIME,
    WITHIN,
    WORST_FIRST,
    Interval,
    Metric,
    MetricFamily,
    Outcome,
    Verdict,
    badness,
)
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import RunResult, TestResult, Vanished
from pytest_rlperf.report.kpis import render_alert, render_reading
from pytest_rlperf.report.metrics import render_allowed
from pytest_rlperf.report.text import CONTROL
from pytest_rlperf.stats.verdicts import error_line

PREFIX = "rlperf"
PLAINLY_FINE = frozenset(
    {Outcome.UNCHANGED, Outcome.SAME_CODE, Outcome.IDENTICAL, Outcome.SHOWN, Outcome.SKIPPED}
)
"""Tests that end so have no line, and are counted."""
NUMBERS_TELL = WITHIN | {Outcome.REGRESSED}
"""Verdicts on time whose numbers are their reason."""
MOST_WORDS = 300
"""Characters of a reason or a notice."""

# -- one line -----------------------------------------------------------------------------------

BARE = re.compile(r'[^\s"]\S*')
"""A value that needs no quotes: up to the next space it is what it is."""
SURROGATE = re.compile("[\ud800-\udfff]")
FIELD = re.compile(r' ([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"]\S*)')


class TerseLine(NamedTuple):
    """One line: what it is about, and the fields."""

    word: str
    fields: Mapping[str, str]

    def __str__(self) -> str:
        pairs = (f" {key}={_quoted(value)}" for key, value in self.fields.items())
        return f"{PREFIX} {self.word}{''.join(pairs)}"


def parse_terse(text: str) -> TerseLine | None:
    """Return what a line says; None: it is none of ours, such as one that a test has printed."""
    found = re.match(rf"{PREFIX} ([a-z_]+)((?:{FIELD.pattern})*)$", text)
    if found is None:
        return None
    values = ((key, value) for key, value in FIELD.findall(found[2]))
    return TerseLine(found[1], {key: _unquoted(value) for key, value in values})


def _quoted(value: str) -> str:
    if BARE.fullmatch(value) and not CONTROL.search(value) and not SURROGATE.search(value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    for acts in (CONTROL, SURROGATE):
        text = acts.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text


def _unquoted(value: str) -> str:
    return str(json.loads(value)) if value.startswith('"') else value


# -- a run --------------------------------------------------------------------------------------


def render_terse(
    run: RunResult | None, exit_code: int, notices: Iterable[str] = (), errors: Iterable[str] = ()
) -> list[str]:
    """Return a line for every test that is not plainly fine, the worst first, then one for every
    KPI alert, vanished test, error of collection and notice, and last the counts; `run` is None
    where no test was selected.
    """
    tests = () if run is None else run.tests
    judged = sorted(((_judged(test, run), test) for test in tests), key=lambda each: each[0].rank)
    alone = run is None or run.against is None
    lines = [
        _test_line(known, test)
        for known, test in judged
        if known.outcome not in PLAINLY_FINE
        and not (alone and known.outcome is Outcome.NO_BASELINE)  # all of them; a notice says it
    ]
    if run is not None:
        lines += [_alert_line(kpi) for kpi in run.kpis if kpi.status is Status.ALERT]
        lines += map(_vanished_line, run.vanished)
    lines += [TerseLine("error", {"why": _cut(text)}) for text in errors]
    lines += [TerseLine("note", {"text": _cut(text)}) for text in notices]
    lines.append(_total(run, [known.outcome for known, _ in judged], exit_code))
    return [str(line) for line in lines]


class _Judged(NamedTuple):
    """The worst verdict of a test with its metric, and how other metrics of it end as badly."""

    verdict: Verdict
    metric: Metric | None  # None: the verdict is on the whole test, or on memory as such
    also: tuple[str, ...]

    @property
    def outcome(self) -> Outcome:
        return self.verdict.outcome

    @property
    def rank(self) -> tuple[int, int, float]:
        interval = self.verdict.interval
        return *badness(self.verdict), -(interval.change if interval else 0.0)


def _judged(test: TestResult, run: RunResult | None) -> _Judged:
    """Judge a test by all that can fail it, the efficiency of its MPI job included."""
    if test.failure is not None or test.skipped is not None:
        return _Judged(test.worst, None, ())
    metrics = [*test.judged, *_efficiencies(test, run)]
    verdicts = {id(metric.verdict): metric for metric in metrics}
    worst = min((*test.verdicts, *(metric.verdict for metric in metrics)), key=badness)
    metric = verdicts.get(id(worst))
    as_bad = (m.name for m in metrics if m is not metric and m.outcome is worst.outcome)
    return _Judged(worst, metric, tuple(as_bad) if worst.outcome is Outcome.REGRESSED else ())


def _efficiencies(test: TestResult, run: RunResult | None) -> Iterator[Metric]:
    for table in () if run is None else run.scaling:
        yield from (row.efficiency for row in table.rows if row.nodeid == test.nodeid)


def _test_line(known: _Judged, test: TestResult) -> TerseLine:
    verdict, metric = known.verdict, known.metric
    fields = {"test": test.nodeid}
    if metric is not None:
        fields["metric"] = metric.name
        fields |= _numbers(metric)
    if verdict.severity is not None:
        fields["severity"] = verdict.severity.value
    if known.also:
        fields["also"] = ",".join(known.also)
    timed = metric is not None and metric.name == TIME
    if not timed or verdict.outcome not in NUMBERS_TELL:
        fields["why"] = _cut(error_line(test.failure.text) if test.failure else verdict.reason)
    return TerseLine(verdict.outcome.value, fields)


def _numbers(metric: Metric) -> dict[str, str]:
    """Return the change with its interval and what is allowed of it, all in one unit: percent, or
    that of the metric where nothing else is judged.
    """
    detectable = metric.verdict.detectable
    detects = {} if detectable is None else {"detects": _percent(detectable)}
    blocks = {"blocks": str(len(metric.head))} if metric.head else {}
    write = metric.kind.write_amount
    if not metric.kind.relative and (amount := metric.amount):
        return _interval(amount, lambda value: _tight(write(value))) | _allowed(metric) | blocks
    if (change := metric.change) is None:
        return detects | blocks
    also = {"amount": _tight(write(metric.amount.change))} if metric.amount else {}
    return _interval(change, _percent) | also | _allowed(metric) | detects | blocks


def _interval(interval: Interval, write: Callable[[float], str]) -> dict[str, str]:
    change, low, high = map(write, (interval.change, interval.low, interval.high))
    return {"change": change, "low": low, "high": high}


def _allowed(metric: Metric) -> dict[str, str]:
    """Return the limit; memory has two at once, which its reason names."""
    if metric.family is MetricFamily.MEMORY or metric.outcome not in COMPARED:
        return {}
    allowed = render_allowed(metric)
    return {"allowed": _tight(allowed)} if allowed else {}


def _alert_line(result: KpiResult) -> TerseLine:
    fields = {} if result.nodeid is None else {"test": result.nodeid}
    fields |= {"kpi": result.kpi.name, "limit": render_alert(result.kpi)}
    if result.reading is not None:
        fields["value"] = render_reading(result.reading, result.kpi)
    return TerseLine("alert", fields)


def _vanished_line(test: Vanished) -> TerseLine:
    renamed = {} if test.renamed_to is None else {"renamed_to": test.renamed_to}
    return TerseLine("vanished", {"test": test.nodeid, **renamed})


def _total(run: RunResult | None, outcomes: Sequence[Outcome], exit_code: int) -> TerseLine:
    counts = Counter(outcomes)
    fields = {"tests": str(len(outcomes))}
    fields |= {outcome.value: str(counts[outcome]) for outcome in WORST_FIRST if counts[outcome]}
    if run is not None:
        alerts = sum(kpi.status is Status.ALERT for kpi in run.kpis)
        fields |= {"alerts": str(alerts)} if alerts else {}
        fields |= {} if run.against is None else {"against": run.against}
        fields |= {"interrupted": "yes"} if run.interrupted else {}
        fields["seconds"] = f"{run.seconds:.0f}"
    return TerseLine("total", {**fields, "exit": str(exit_code)})


def _percent(fraction: float) -> str:
    return _tight(format_percent(fraction))


def _tight(text: str) -> str:
    return text.replace(" ", "")


def _cut(text: str) -> str:
    """Return a reason on one line that is no longer than may be."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_WORDS else f"{line[: MOST_WORDS - 1]}…"
