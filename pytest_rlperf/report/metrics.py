"""The metrics of tests as text: how a change and a value are written, and the tables of metrics.

Time has a table of its own (see `terminal`); a `MetricSection` describes each of the others.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_rlperf.model.learning import LearningResult
from pytest_rlperf.model.memory import MemoryResult, Site
from pytest_rlperf.model.metric import (
    COMPARED,
    PEAK,
    WITHIN,
    Metric,
    MetricFamily,
    Outcome,
    Verdict,
    badness,
)
from pytest_rlperf.model.quantity import format_bytes, format_percent, format_return
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.text import (
    WORDS,
    Rows,
    StyledLine,
    render_interval,
    render_remarks,
    render_word,
    table_lines,
)

# -- one metric ---------------------------------------------------------------------------------


def render_change(metric: Metric) -> str:
    """Return its change, a share of the base where it has one; empty: nothing was compared."""
    if not metric.kind.relative and metric.amount is not None:
        return metric.kind.write_amount(metric.amount.change)
    return format_percent(metric.change.change) if metric.change else ""


def render_interval_of(metric: Metric) -> str:
    """Return the interval of its change, in its own unit where that is judged."""
    if metric.amount is not None:
        write = metric.kind.write_amount
        return f"[{write(metric.amount.low)}, {write(metric.amount.high)}]"
    return render_interval(metric.change) if metric.change else ""


def render_allowed(metric: Metric) -> str:
    """Return the change that is allowed; empty: none is."""
    if metric.threshold_abs is not None:
        return f"{metric.threshold_abs:+g}"
    loss = -1 if metric.family is MetricFamily.LEARNING and metric.name != "steps_to_goal" else 1
    return format_percent(loss * metric.verdict.threshold) if metric.verdict.threshold else ""


def render_values_of(metric: Metric) -> str:
    """Return the values of both sides, or that of head alone."""
    values = (value for value in (metric.base_value, metric.value) if value is not None)
    return " → ".join(map(metric.written, values))


# -- tables -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MetricSection:
    """A table of metrics: whose they are, its titles, and which rows and reasons it shows."""

    title: str
    families: frozenset[MetricFamily]
    column: str  # above the names
    counted: str  # above the number of blocks or processes
    remarked: frozenset[Outcome]  # whose reasons are told below the table
    allowed: bool = True  # whether it tells the change that is allowed
    quiet: frozenset[Outcome] = frozenset()  # of which only the metrics shown `always` have a row
    always: frozenset[str] = frozenset()

    def metrics(self, test: TestResult) -> list[Metric]:
        """Return the metrics of a test that belong into this table."""
        own = test.metrics if test.failure is None else ()
        return [metric for metric in own if metric.family in self.families]


MEMORY = MetricSection(
    "Memory",
    frozenset({MetricFamily.MEMORY}),
    "memory",
    "processes",
    remarked=frozenset({Outcome.INCONCLUSIVE, Outcome.INCOMPARABLE, Outcome.ACCEPTED}),
    allowed=False,
    quiet=frozenset({Outcome.UNCHANGED, Outcome.SHOWN, Outcome.NO_BASELINE}),
    always=frozenset({PEAK, "traced_peak"}),
)
SIZES_AND_STARTS = MetricSection(
    "Sizes and starts",
    frozenset({MetricFamily.GROWTH, MetricFamily.START}),
    "metric",
    "blocks",
    remarked=frozenset(Outcome) - (WITHIN | {Outcome.REGRESSED, Outcome.NOT_MEASURED}),
    quiet=frozenset({Outcome.NOT_MEASURED}),  # as the time of the same test, which is told
)
LEARNING = MetricSection(
    "Learning",
    frozenset({MetricFamily.LEARNING}),
    "learning",
    "seeds",
    remarked=frozenset(Outcome) - {Outcome.REGRESSED},
)
SECTIONS = (LEARNING, MEMORY, SIZES_AND_STARTS)


def render_metric_table(run: RunResult, section: MetricSection) -> list[StyledLine]:
    """Return a line a metric, worst first, then the reasons that numbers do not show."""
    shown = _shown(run.tests, section)
    remarked = ((test.nodeid, r) for test in run.tests for r in metric_remarks(test, section))
    lines = table_lines(metric_rows(run.tests, section), (metric.outcome for metric, _ in shown))
    return [*lines, *map(StyledLine, render_remarks(remarked))]


def metric_rows(tests: Iterable[TestResult], section: MetricSection) -> Rows:
    """Return a row a metric, worst first."""
    shown = _shown(tests, section)
    titles = ["", section.column, "change", "95 % interval", "allowed", "base → head"]
    rows = [_row(*each, section) for each in shown]
    return [[*titles, section.counted, "from", "test"], *rows] if rows else []


def _shown(tests: Iterable[TestResult], section: MetricSection) -> list[tuple[Metric, TestResult]]:
    shown = [
        (metric, test)
        for test in tests
        for metric in section.metrics(test)
        if metric.name in section.always or metric.outcome not in section.quiet
    ]
    return sorted(shown, key=lambda row: badness(row[0].verdict)[0])


def _row(metric: Metric, test: TestResult, section: MetricSection) -> list[str]:
    return [
        WORDS[metric.outcome],
        metric.name,
        render_change(metric),
        render_interval_of(metric),
        render_allowed(metric) if section.allowed and metric.outcome in COMPARED else "",
        render_values_of(metric),
        str(len(metric.head) or ""),
        test.part or "",
        test.nodeid,
    ]


def metric_remarks(test: TestResult, section: MetricSection) -> Iterator[str]:
    """Yield what the numbers of one test do not show."""
    trouble = _trouble(test, section)
    if trouble is not None:
        yield f"memory {WORDS[trouble.outcome]}: {trouble.reason}"
    for metric in section.metrics(test):
        if metric.outcome in section.remarked:
            yield f"{metric.name} {WORDS[metric.outcome]}: {metric.verdict.reason}"


def _trouble(test: TestResult, section: MetricSection) -> Verdict | None:
    """Return why nothing is known of the test's memory, where that is told."""
    told = section is MEMORY and test.failure is None and test.skipped is None
    return test.memory.trouble if told and test.memory else None


# -- failures -----------------------------------------------------------------------------------


def render_metric_failures(test: TestResult, against: str | None) -> list[str]:
    """Return the lines of a failing test: what regressed beside its time, and where."""
    lines = []
    for section in SECTIONS:
        regressed = [m for m in section.metrics(test) if m.outcome is Outcome.REGRESSED]
        for metric in regressed:
            change = " ".join(filter(None, (render_change(metric), render_interval_of(metric))))
            allowed = f", allowed {render_allowed(metric)}" if section.allowed else ""
            lines += [
                f"{render_word(metric.verdict)}: {metric.name} {change} "
                f"against {against or 'the baseline'}{allowed}",
                f"  why: {metric.verdict.reason}",
                f"  {metric.name}: {render_values_of(metric)}, {_measured_how(metric, test)}",
            ]
        if regressed and test.learning is not None:
            lines += [f"  {line}" for line in render_learning(test.learning)]
        if regressed and section is MEMORY and test.memory is not None:
            lines += [f"  {line}" for line in render_memory_evidence(test.memory)]
    return lines


def _measured_how(metric: Metric, test: TestResult) -> str:
    number, label = len(metric.head), metric.verdict.label
    if metric.family is MetricFamily.LEARNING:
        return f"interquartile means of {number} seeds"
    if metric.family is MetricFamily.MEMORY and test.memory is not None:
        label = f" ({label})" if label else ""
        return f"{number} processes of {test.memory.repeats} calls{label}"
    return f"{number} blocks of {label}" if metric.curve else f"{number} blocks"


# -- what holds the memory of a test: the evidence beside its metrics -----------------------------

SEEDS_NAMED = 12
LISTED = 6
"""The number of processes or lines that are named; more are counted."""


def render_memory_evidence(memory: MemoryResult) -> Iterator[str]:
    """Yield what holds head's memory."""
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


# -- what a test learned: the evidence beside its metric ------------------------------------------


def render_learning(learning: LearningResult) -> Iterator[str]:
    """Yield what the seeds of both sides came to, and how those ended that failed."""
    for name, side in (("base", learning.base), ("head", learning.head)):
        ends = (next(iter(t.curves.values()))[-1][1] if t.curves else None for t in side)
        texts = ["failed" if end is None else format_return(end) for end in ends]
        yield f"{name}, by seed: {', '.join(texts[:SEEDS_NAMED])}{_more(len(texts) - SEEDS_NAMED)}"
    for name, side in (("head", learning.head), ("base", learning.base)):
        broken = [training for training in side if training.failure]
        if broken:
            failed = f"{len(broken)} of {len(side)} seeds of {name} failed"
            yield f"{failed}; seed {broken[0].seed}: {broken[0].last_words}"


def _more(number: int) -> str:
    return f" and {number} more" if number > 0 else ""


def _lines(sites: Sequence[Site]) -> str:
    return _named([(site.where, site.size_bytes) for site in sites])


def _named(sizes: Sequence[tuple[str, int]]) -> str:
    named = ", ".join(f"{name} ({format_bytes(size)})" for name, size in sizes[:LISTED])
    return named + _more(len(sizes) - LISTED)
