"""A run in the terminal: the line above it, the live line, the tables and the failures."""

import io
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TextIO

from pytest_rlperf.environments.report import render_environments
from pytest_rlperf.errors import never_fatal
from pytest_rlperf.metrics.within_run import render_drift, render_moved, render_phase_table
from pytest_rlperf.model.metric import COMPARED, WITHIN, Metric, Outcome
from pytest_rlperf.model.quantity import format_percent, format_rate, format_time
from pytest_rlperf.model.result import Progress, RunResult, TestResult, Vanished
from pytest_rlperf.mpi.scaling import render_scaling
from pytest_rlperf.profile.report import render_explanation
from pytest_rlperf.report.categories import render_categories
from pytest_rlperf.report.evidence import device_used, is_cold, render_advice, witnesses
from pytest_rlperf.report.kpis import render_kpi_table
from pytest_rlperf.report.metrics import SECTIONS, render_metric_failures, render_metric_table
from pytest_rlperf.report.origins import render_parts
from pytest_rlperf.report.text import (
    WORDS,
    Rows,
    Style,
    StyledLine,
    name_some,
    render_interval,
    render_remarks,
    render_tests,
    render_word,
    table_lines,
    time_title,
    worst_first,
)


def render_header(
    partner: str, budget_s: float, cores: Sequence[int], profiles_s: float = 0.0
) -> str:
    """Return what is compared, for how long, and where; `profiles_s`: the most that it may take
    after the verdicts to explain regressions.
    """
    pinned = f"pinned to cores {_spans(cores)}" if cores else "NOT PINNED: wider intervals"
    profiles = f" and at most {profiles_s:.0f} s to explain regressions" if profiles_s else ""
    return f"{partner}, budget {budget_s:.0f} s{profiles}, {pinned}"


def _spans(cores: Sequence[int]) -> str:
    """Return "0-2,5" of 0, 1, 2 and 5."""
    spans: list[list[int]] = []
    for core in cores:
        if spans and core == spans[-1][-1] + 1:
            spans[-1].append(core)
        else:
            spans.append([core])
    return ",".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)


# -- tables -------------------------------------------------------------------------------------


def render_table(run: RunResult) -> list[StyledLine]:
    """Return a line a test, worst first, then the reasons that numbers do not show."""
    tests = sorted((test for test in run.tests if _in_table(test)), key=worst_first)
    outcomes = (test.headline.outcome for test in tests)
    table = table_lines(time_rows(tests, run.against), outcomes)
    known = [t for t in tests if run.against or t.headline.outcome is not Outcome.NO_BASELINE]
    remarked = render_remarks((test.nodeid, each) for test in known for each in remarks(test))
    lines = [*remarked, *render_same_code(run), *map(render_vanished, run.vanished)]
    return [*table, StyledLine(""), *map(StyledLine, lines)] if lines else table


def time_rows(tests: Sequence[TestResult], against: str | None) -> Rows:
    """Return the titles and a row for each test, in their order."""
    times = time_title(against)
    head = ["", "change", "95 % interval", "allowed", "detects", times, "blocks", "from", "test"]
    return [head, *map(time_row, tests)] if tests else []


def _in_table(test: TestResult) -> bool:
    """Return whether a test has a row here: one of memory alone has its own table, unless there is
    nothing to show there.
    """
    return test.time is not None or test.failure is not None or test.skipped is not None


def render_same_code(run: RunResult) -> Iterator[str]:
    """Yield the line that says why tests of the same code were not measured, if there are any."""
    number = sum(test.outcome is Outcome.SAME_CODE for test in run.tests)
    if not number or run.code_changes is None:
        return
    files = run.code_changes.files
    changed = name_some(files)
    why = f"nothing of what changed in {changed}" if files else "the same code: nothing changed"
    verb = "runs" if number == 1 else "run"
    yield f"{render_tests(number)} {verb} {why}; to measure all: --rlperf-same-code=measure"


def render_vanished(test: Vanished) -> str:
    hint = f"; it seems to be {test.renamed_to} now" if test.renamed_to else ""
    return f"{test.nodeid}: vanished: it has a stored baseline, and is no longer there{hint}"


def time_row(test: TestResult) -> list[str]:
    """Return the cells of one test: outcome, numbers and name."""
    v = test.headline
    return [
        WORDS[v.outcome],
        format_percent(v.interval.change) if v.interval else "",
        render_interval(v.interval) if v.interval else "",
        format_percent(v.threshold) if v.threshold and v.outcome in COMPARED else "",
        format_percent(v.detectable) if v.detectable is not None else "",
        render_values(test),
        str(len(test.blocks) or ""),
        test.part or "",
        test.nodeid,
    ]


def render_values(test: TestResult) -> str:
    """Return the time of a call on both sides, and steps/s where the test declares its steps."""
    if test.time is None or test.time.value is None:
        return ""
    head, base = _call_times(test.time, test.time.value)
    times = format_time(head) if base is None else f"{format_time(base)} → {format_time(head)}"
    if test.steps is not None:
        times += f" ({format_rate(test.steps * 1e9 / head)} steps/s)"
    return times


def _call_times(time: Metric, head: float) -> tuple[float, float | None]:
    """Return head's and the base's; None: there is no base. Two medians over noisy blocks would not
    fit the change, which is measured in pairs, so one of them is reckoned from it.
    """
    interval, base = time.verdict.interval, time.base_value
    if interval is None or base is None or not time.base:
        return head, base
    return base * (1 + interval.change), base


def remarks(test: TestResult) -> Iterator[str]:
    """Yield what the numbers do not show."""
    v = test.headline
    plain = WITHIN | {Outcome.REGRESSED, Outcome.SAME_CODE}
    if test.failure or test.skipped is not None:
        return
    label = f" ({v.label})" if v.label and test.time else ""
    if v.outcome not in plain or label:
        yield f"{WORDS[v.outcome]}: {v.reason}{label}"
    if is_cold(test):
        yield f"the first call took {format_time(test.first_call_ns or 0)}, outside of the slices"
    if drifting := render_drift(test.drift):
        yield drifting


def render_failure(test: TestResult, against: str | None) -> str:
    """Return what a failing test shows: the numbers, the evidence and how to see it again."""
    if test.failure is not None:
        return _cause_first(test.failure.text)
    v = test.headline
    grown = render_metric_failures(test, against)
    if grown and (test.time is None or v.outcome is not Outcome.REGRESSED):
        return "\n".join([*grown, f"  repeat: {test.repeat_command}"])
    lines = render_time_verdict(test, against)
    if test.explanation is not None:
        lines += render_explanation(test.explanation)
    lines += [*grown, f"  repeat: {test.repeat_command}"]
    return "\n".join(lines)


def render_time_verdict(test: TestResult, against: str | None) -> list[str]:
    """Return the headline of a test with what it rests on."""
    lines = [_headline(test, against), f"  why: {test.headline.reason}"]
    if test.blocks:
        how = [render_how(test)] if test.plan is not None else []  # a file may have lost it
        lines.append(f"  time a call: {', '.join([render_values(test), *how])}")
        lines.append(f"  witnesses: {render_witnesses(test)}")
    return [*lines, *render_moved(test)]


def render_explanations(run: RunResult) -> list[str]:
    """Return the explanations of tests that were profiled though they did not regress; those of
    others are in their failures.
    """
    return [
        line
        for test in run.tests
        if test.explanation is not None and test.headline.outcome is not Outcome.REGRESSED
        for line in (f"{test.nodeid}:", *render_explanation(test.explanation))
    ]


def _cause_first(traceback: str) -> str:
    """Return the traceback below its cause: pytest's short summary quotes the first line, which of
    a traceback says nothing.
    """
    first, *lines = traceback.splitlines() or [""]
    errors = (line.removeprefix("E").strip() for line in (first, *lines) if line.startswith("E "))
    cause = next(errors, "")
    # The text of ranks begins with its cause.
    return traceback if cause in first else f"{cause}\n\n{traceback}"


def _headline(test: TestResult, against: str | None) -> str:
    v = test.headline
    word = render_word(v)
    if v.interval is None or v.threshold is None:
        return f"{word}: {test.nodeid}"
    return (
        f"{word}: time {format_percent(v.interval.change)} {render_interval(v.interval)} "
        f"against {against or 'the baseline'}, allowed {format_percent(v.threshold)}"
    )


def render_how(test: TestResult) -> str:
    """Return "10 blocks of 8 to 32 sliced pairs, 1 call a slice"."""
    assert test.plan is not None
    plan = test.plan
    calls = "1 call" if plan.calls == 1 else f"{plan.calls} calls"
    pairs = sorted({len(block.head.own_ns) for block in test.blocks}) or [plan.pairs]
    numbers = " to ".join(str(n) for n in dict.fromkeys((pairs[0], pairs[-1])))
    noun = "pair" if numbers == "1" else "pairs"
    return f"{len(test.blocks)} blocks of {numbers} {plan.mode.value} {noun}, {calls} a slice"


def render_witnesses(test: TestResult) -> str:
    """Return what the machine did meanwhile, in one line."""
    numbers = witnesses(test)
    parts = [
        *_render_others(numbers),
        f"steal at most {format_percent(numbers['steal'], signed=False)}",
        f"preempted {numbers['preempted_per_s']:.0f} times/s",
    ]
    if "cpu_change" in numbers:
        parts.insert(0, f"CPU time {format_percent(numbers['cpu_change'])}")
    if device := device_used(test):
        busy = "" if device.utilisation is None else f" ({100 * device.utilisation:.0f} % busy)"
        parts.append(f"computed by {device.name}{busy}")
    return ", ".join(parts)


QUIET = 0.01
"""The share of a core that nobody misses."""


def _render_others(numbers: Mapping[str, float]) -> Iterator[str]:
    others = numbers.get("others")
    if others is None:
        return
    if others >= QUIET:
        yield f"other work took {format_percent(others, signed=False)} of the core"
    elif numbers["steal"] < QUIET:
        yield "the core to itself"


# -- the summary, part by part ------------------------------------------------------------------


Part = Callable[[RunResult], Iterable[StyledLine | str]]


def render_sections(run: RunResult) -> list[StyledLine]:
    """Return the parts of the summary, verdicts first; one that has nothing to say is left out."""
    parts: list[Part] = [
        render_table,
        *(partial(render_metric_table, section=section) for section in SECTIONS),
        render_phase_table,
        render_explanations,
        render_scaling,
        render_kpi_table,
        render_categories,
        _render_advice,
        render_environments,
        render_parts,
        render_cost,
    ]
    lines: list[StyledLine] = []
    for part in parts:
        shown = _shown(part, run)
        lines += [*([StyledLine("")] if lines else []), *shown] if shown else []
    return lines


def _shown(part: Part, run: RunResult) -> list[StyledLine]:
    """Return the lines of a part; where they cannot be made, what there is of them, and why."""
    lines: list[StyledLine] = []
    with never_fatal(lambda why: lines.append(StyledLine(f"this is not all: {why}", Style.POOR))):
        lines += (line if isinstance(line, StyledLine) else StyledLine(line) for line in part(run))
    return lines


def _render_advice(run: RunResult) -> list[str]:
    return [f"advice: {line}" for line in render_advice(run)]


PARTS = {"workers": "starting workers", "warmup": "warm-up", "waiting": "waiting for the partner"}
"""The parts of a cost that are called otherwise in a sentence."""


def render_cost(run: RunResult) -> list[str]:
    """Return the line that says what the time went to, without parts of less than half a second."""
    spent_s = {} if run.cost is None else asdict(run.cost)
    parts = [f"{PARTS.get(part, part)} {s:.0f} s" for part, s in spent_s.items() if s >= 0.5]
    return [f"the {run.seconds:.0f} s went to: {', '.join(parts)}"] if parts else []


# -- the live line ------------------------------------------------------------------------------

LOG_EVERY_S = 15.0


def render_progress(progress: Progress) -> str:
    label = f"{progress.label}: " if progress.label else ""
    parts = [f"rlperf: {label}{progress.decided} of {progress.tests} decided"]
    parts.append(_stage_of(progress))
    if progress.widest is not None:
        parts.append(f"widest interval ±{format_percent(progress.widest, signed=False)}")
    parts.append(f"{progress.elapsed_s:.0f} s of {progress.budget_s:.0f} s")
    if progress.needed_s is not None:
        tests = "1 test needs" if progress.tests == 1 else f"{progress.tests} tests need"
        parts.append(f"{tests} about {progress.needed_s:.0f} s here")
    return " · ".join(parts)


def _stage_of(progress: Progress) -> str:
    """Return what is being done for the tests that are still open."""
    if progress.seeds is not None:
        return f"{progress.seeds} seed{'' if progress.seeds == 1 else 's'} trained"
    if progress.blocks:
        return f"block {progress.blocks}"
    return "scouting" if progress.needed_s is None else "scouted"


class ProgressLine:
    """The live line: rewritten in a terminal, now and then a line of its own in a log; nothing at
    all without a stream.
    """

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or io.StringIO()
        self._live = self._stream.isatty()
        self._clock = clock
        self._shown_at = clock()
        self._width = 0
        self._foretold = False

    def show(self, progress: Progress) -> None:
        """Show how far the run has come; in a log at once when it is first known what it needs."""
        news = progress.needed_s is not None and not self._foretold
        self._foretold |= news
        self.write(render_progress(progress), news)

    def write(self, line: str, news: bool = False) -> None:
        if self._live:
            line = line[: shutil.get_terminal_size().columns - 1]  # a wrapped line cannot be erased
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
            self._stream.flush()
        elif news or self._clock() - self._shown_at >= LOG_EVERY_S:
            self._shown_at = self._clock()
            self._stream.write(line + "\n")
            self._stream.flush()

    def clear(self) -> None:
        if self._live and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0
            self._stream.flush()
