"""One test of a result as text that a person or an assistant can act on (`rlperf explain`): the
verdict with what it rests on, what accounts for it, and what to do next. Its length is bounded,
however large the result.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.model.metric import COMPARED, WITHIN, MetricFamily, Outcome
from pytest_rlperf.model.profile import ComparedLine, Edit, Explanation, Lines
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.mpi.scaling import render_efficiency_lost
from pytest_rlperf.profile.report import (
    added_ns,
    guilty_place,
    line_rows,
    render_cause,
    render_edits,
    render_lines_title,
    render_operator,
    render_profile,
)
from pytest_rlperf.report.evidence import render_advice
from pytest_rlperf.report.kpis import render_kpi_alerts
from pytest_rlperf.report.metrics import (
    render_change,
    render_interval_of,
    render_memory_evidence,
    render_metric_failures,
    render_values_of,
)
from pytest_rlperf.report.terminal import render_time_verdict
from pytest_rlperf.report.text import (
    WORDS,
    aligned,
    name_some,
    render_head,
    render_summary,
    render_verdict,
    render_word,
    worst_first,
)

MOST_LINES = 70
"""Of a whole text, the command that repeats a test and what to do next included."""
MOST_LETTERS = 240
"""Of a line, but for commands and node ids, which are worth nothing in part."""
EDITS, DIFF_LINES, TIMED_LINES, CAUSES, OPERATORS = 3, 14, 8, 6, 4
FAILURE_LINES = 20
OTHERS = 10

WORSE = frozenset({Outcome.REGRESSED, Outcome.FAILED})


def worst_test(run: RunResult) -> TestResult | None:
    """Return the worst of the tests that regressed or failed; None: there is none."""
    worse = [test for test in run.tests if _is_worse(test, run)]
    return min(worse, key=worst_first, default=None)


def _is_worse(test: TestResult, run: RunResult) -> bool:
    return test.outcome in WORSE or bool(render_efficiency_lost(run, test.nodeid))


def render_run(run: RunResult) -> list[str]:
    """Return what was compared, and how it ended."""
    partner = "" if run.against is None else f" against {run.against}"
    cut = ["interrupted: the verdicts rest on what was measured until then"]
    return [
        _cut(f"{render_head(run)}{partner}, {run.created}: {render_verdict(run)}"),
        _cut(f"outcomes: {render_summary(run) or 'no tests'}"),
        *(cut if run.interrupted else []),
    ]


def render_others(run: RunResult, explained: TestResult | None) -> list[str]:
    """Return a line for each other test that is not plainly fine, the worst first."""
    fine = {Outcome.UNCHANGED, Outcome.SAME_CODE, Outcome.IDENTICAL, Outcome.SKIPPED}
    others = sorted(
        (t for t in run.tests if t is not explained and t.outcome not in fine), key=worst_first
    )
    if not others:
        return []
    lines = [f"  {_in_a_line(test)}" for test in others[:OTHERS]]
    more = len(others) - OTHERS
    lines += [f"  and {more} more, which --rlperf-report=DIR tells"] if more > 0 else []
    return ["", "others, each of which `rlperf explain RESULT NODEID` explains:", *lines]


def _in_a_line(test: TestResult) -> str:
    worst = next((m for m in test.judged if m.verdict is test.worst), None)
    change = render_change(worst) if worst is not None else ""
    named = f" {worst.name} {change}" if worst is not None and change else ""
    return f"{render_word(test.worst)}{named}: {test.nodeid}"


# -- one test -----------------------------------------------------------------------------------


def render_explained(run: RunResult, test: TestResult) -> list[str]:
    """Return all that is worth knowing of a test in a bounded number of lines."""
    ends = [f"  repeat: {test.repeat_command}"] if test.repeat_command else []
    steps = list(next_steps(run, test))
    ends += ["next:", *(f"  - {step}" for step in steps)] if steps else []
    middle = [_cut(line) for line in _evidence(run, test)]
    room = MOST_LINES - 1 - len(ends)
    if len(middle) > room:
        left_out = len(middle) - room + 1
        middle = [*middle[: room - 1], f"  … {left_out} more lines, which --rlperf-report=DIR has"]
    return [test.nodeid, *middle, *ends]


def _evidence(run: RunResult, test: TestResult) -> Iterator[str]:
    if test.failure is not None:
        yield "failed: the test itself, so there is nothing to judge"
        yield from _tail(test.failure.text)
        return
    if test.skipped is not None:
        yield f"skipped: {test.skipped}"
        return
    if test.time is not None:
        yield from render_time_verdict(test, run.against)
        yield from _detects(test)
        if test.headline.outcome in (Outcome.FASTER, Outcome.IMPROVED):
            yield f"  equal work: {_work(test)}"
    yield from _what_was_compared(run, test)
    if test.explanation is not None:
        yield from _explanation(test.explanation)
    yield from render_metric_failures(test, run.against)
    yield from _other_metrics(test)
    yield from render_efficiency_lost(run, test.nodeid)
    yield from (line for text in render_kpi_alerts(run, test.nodeid) for line in text.split("\n"))


def _tail(text: str) -> Iterator[str]:
    """Yield the end of a traceback, where its cause is."""
    lines = text.splitlines()
    if len(lines) > FAILURE_LINES:
        yield f"  … {len(lines) - FAILURE_LINES} lines above"
    yield from (f"  {line}" for line in lines[-FAILURE_LINES:])


def _detects(test: TestResult) -> Iterator[str]:
    verdict = test.headline
    if verdict.detectable is None or verdict.outcome not in COMPARED:
        return
    detectable = format_percent(verdict.detectable)
    yield f"  detects: a slowdown of {detectable} would have been called in nine of ten cases"


def _what_was_compared(run: RunResult, test: TestResult) -> Iterator[str]:
    """Yield which differences there are between the sides, and which of them the test meets."""
    if run.code_changes is None:
        return
    if test.outcome is Outcome.SAME_CODE:
        yield f"  the sides differ in: {_changes(run.code_changes)}"
        yield "  compared: what the test ran on head, watched in one run, with these differences"
    elif test.differences and test.explanation is None:
        yield f"  meets: {name_some(test.differences)}"


def _changes(changes: CodeChanges) -> str:
    if changes.everywhere:
        return changes.everywhere
    functions = [f"{file}:{name}" for file, names in changes.functions.items() for name in names]
    modules = [f"{file} (what its import does)" for file in changes.modules]
    return name_some([*functions, *modules]) or "nothing"


# -- what accounts for the change ---------------------------------------------------------------


def _explanation(explanation: Explanation) -> Iterator[str]:
    if explanation.edits:
        yield f"  changed: {render_edits(explanation)}"
        for edit in explanation.edits[:EDITS]:
            yield from _edit(edit)
    yield f"  profile: {render_profile(explanation)}"
    yield from (f"    {render_cause(cause)}" for cause in explanation.causes[:CAUSES])
    yield from (f"    {render_operator(each)}" for each in explanation.operators[:OPERATORS])
    if explanation.lines is not None:
        shown = _moved_lines(explanation.lines)
        yield f"  {render_lines_title(shown)}"
        yield from (f"    {row}" for row in aligned(line_rows(shown)))


def _edit(edit: Edit) -> Iterator[str]:
    at = "" if edit.at is None else f" at {edit.at.file}:{edit.at.line}"
    yield f"    {edit.function}{at}"
    yield from (f"      {line}" for line in short_diff(edit.diff))


def short_diff(diff: Sequence[str], most: int = DIFF_LINES) -> list[str]:
    """Return the lines that changed, each with the ones beside it, and how many are left out."""
    near = {
        index + step
        for index, line in enumerate(diff)
        if not line.startswith(" ")
        for step in (-1, 0, 1)
    }
    shown = [diff[index] for index in sorted(near) if 0 <= index < len(diff)]
    more = len(shown) - most
    return shown if more <= 0 else [*shown[:most], f"… {more} more lines of the diff"]


def _moved_lines(lines: Lines) -> Lines:
    """Return those whose time moved most, in their order."""

    def moved(line: ComparedLine) -> float:
        return abs(added_ns(line))

    most = sorted(filter(moved, lines.lines), key=moved, reverse=True)[:TIMED_LINES]
    return replace(lines, lines=tuple(line for line in lines.lines if line in most))


# -- the other metrics --------------------------------------------------------------------------


def _other_metrics(test: TestResult) -> Iterator[str]:
    """Yield a line for each metric beside time that did not regress; memory is told with what
    holds it, where that was not told already.
    """
    told = {MetricFamily.TIME}
    for metric in test.judged:
        if metric.family in told or metric.outcome is Outcome.REGRESSED:
            continue
        change = " ".join(filter(None, (render_change(metric), render_interval_of(metric))))
        values = render_values_of(metric)
        numbers = ", ".join(filter(None, (change, values)))
        yield f"{WORDS[metric.outcome]}: {metric.name} {numbers}".rstrip()
        if metric.outcome not in WITHIN:
            yield f"  why: {metric.verdict.reason}"
    if test.memory is None:
        return
    if test.memory.trouble is not None:
        yield f"memory {WORDS[test.memory.trouble.outcome]}: {test.memory.trouble.reason}"
    memory = (m for m in test.judged if m.family is MetricFamily.MEMORY)
    if all(metric.outcome is not Outcome.REGRESSED for metric in memory):
        yield from (f"  {line}" for line in render_memory_evidence(test.memory))


# -- what to do next ----------------------------------------------------------------------------

MEASURE = {
    Outcome.NOT_MEASURED: "measure it alone, so that it has the whole budget: the command above",
    Outcome.INCOMPARABLE: "make both sides comparable, as the reason says, and repeat it",
    Outcome.ACCEPTED: "nothing: the project allows it for a while, by [tool.rlperf.accepted]",
    Outcome.UNCHANGED: "nothing: what it may have gained or lost is less than the interval holds",
    Outcome.IDENTICAL: "nothing: both sides learned the same, bit for bit",
}


def next_steps(run: RunResult, test: TestResult) -> Iterator[str]:
    """Yield what to look at or to run next, the best first."""
    again = test.repeat_command
    match test.outcome:
        case Outcome.FAILED:
            yield f"mend the test; without --rlperf it runs once: pytest {shlex.quote(test.nodeid)}"
        case Outcome.REGRESSED:
            yield from _after_regression(run, test, again)
        case Outcome.INCONCLUSIVE:
            yield "measure it alone, so that it has the whole budget: the command above"
            yield from render_advice(replace(run, tests=(test,)))
        case Outcome.NO_BASELINE if run.against is None:
            yield "compare it with a revision: the command above with --rlperf-against=HEAD"
        case Outcome.NO_BASELINE:
            yield "if it is new, nothing: the next change is compared with this one"
        case Outcome.SAME_CODE:
            yield f"to measure it all the same: {again} --rlperf-same-code=measure"
        case Outcome.SLOWER:
            yield "allowed; many such changes add up, which `rlperf trend` sees in the history"
        case Outcome.FASTER if test.worst.threshold is not None:
            most = format_percent(-test.worst.threshold)
            yield f"faster beyond doubt, but no improvement: its interval does not end below {most}"
        case outcome if outcome in MEASURE:
            yield MEASURE[outcome]


def _after_regression(run: RunResult, test: TestResult, again: str) -> Iterator[str]:
    place = guilty_place(test, "")
    explanation = test.explanation
    timed = test.headline.outcome is Outcome.REGRESSED and test.time is not None
    if place is not None:
        line = "" if place.line is None else f":{place.line}"
        yield f"look at {place.file.as_posix()}{line} first"
    if timed and explanation is None and run.mode == "against":
        yield f"profile both sides: {again} --rlperf-profile"
    if explanation is not None and explanation.causes and explanation.lines is None:
        yield f"time the lines of the function that is blamed: {again} --rlperf-profile=line"
    if test.memory is not None and test.memory.head.sites:
        yield f"of memory, look at {test.memory.head.sites[0].where} first"
    if timed and run.base_commit and run.commit and not run.dirty:
        words = f"{run.base_commit} {run.commit} -- {shlex.quote(test.nodeid)}"
        yield f"of several commits, find the one: rlperf bisect {words}"
    yield "after a change, run the command above: it is mended when the test is unchanged or better"
    yield "if it is meant, allow it by name until a date, with a reason: [tool.rlperf.accepted]"


def _work(test: TestResult) -> str:
    """Return what says that both sides did the same; they are not compared where it differs."""
    work: Mapping[str, float] = test.blocks[-1].head.work if test.blocks else {}
    counts = [f"{name} {value:,.15g}" for name, value in islice(work.items(), OTHERS)]
    if test.steps is not None:
        counts.insert(0, f"{test.steps:,} steps a call")
    if counts:
        return f"both sides declare {', '.join(counts)}"
    return "the test declares no counts (work=, steps=), so only its own assertions say so"


def _cut(line: str) -> str:
    return line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - 1]}…"
