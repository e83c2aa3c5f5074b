"""A duet of commands as text: in the terminal, in Markdown, and as data."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_rlperf.duet.model import CommandResult, CommandVerdict, DuetResult, DuetSettings
from pytest_rlperf.duet.starting import render_status
from pytest_rlperf.model.metric import COMPARED, WITHIN, Outcome, Verdict
from pytest_rlperf.model.quantity import format_bytes, format_percent, format_time
from pytest_rlperf.model.result import Fingerprint
from pytest_rlperf.report.terminal import render_header
from pytest_rlperf.report.text import (
    WORDS,
    StyledLine,
    code,
    one_line,
    render_interval,
    render_word,
    table_lines,
)

SCHEMA = 1
"""1: first version."""
FIRST = "first"
SHORT_NS = 5e6
"""hyperfine warns below as much: most of it is the start of a process."""
WAITS_BELOW = 0.5
"""A command that computes for a smaller share of its time by the clock mostly waits."""
SEVERAL_ABOVE = 1.2
"""One that computes for longer than its time by the clock uses more than one core."""
TOLD_RATIO = 1.5
"""From this factor on, it is told as one, too."""


# -- the terminal -------------------------------------------------------------------------------


def render_duet_header(settings: DuetSettings, cores: Sequence[int]) -> str:
    """Return what is compared, how, for how long and where."""
    shell = settings.commands.shell
    by = "without a shell" if shell is None else f"each by {shell} -c"
    if settings.waits:
        return f"duet by the clock, one run after the other, {by}, budget {settings.budget_s:.0f} s"
    return render_header(f"duet of CPU times, both sides at once, {by}", settings.budget_s, cores)


def render_duet(result: DuetResult) -> list[StyledLine]:
    """Return a line a command, then what the numbers do not show."""
    outcomes = (each.verdict.outcome for each in (*_first(result), *result.verdicts))
    lines = table_lines(duet_rows(result), outcomes)
    notes = list(duet_remarks(result))
    return [*lines, *([StyledLine("")] if notes else []), *map(StyledLine, notes)]


def duet_rows(result: DuetResult) -> list[list[str]]:
    """Return the titles and a row for each command, in their order."""
    time = "time" if result.settings.waits else "CPU time"
    titles = ["", "change", "95 % interval", "allowed", "detects", time, "alone", "memory"]
    rows = [_row(result, each) for each in (*_first(result), *result.verdicts)]
    return [[*titles, "pairs", "command"], *rows]


def _first(result: DuetResult) -> tuple[CommandVerdict, ...]:
    return (CommandVerdict(0, Verdict(Outcome.SHOWN, ""), 0),)


def _row(result: DuetResult, each: CommandVerdict) -> list[str]:
    v, command = each.verdict, result.commands[each.command]
    time_ns = time_of(result, each)
    return [
        render_word(v) if each.command else FIRST,
        format_percent(v.interval.change) if v.interval else "",
        render_interval(v.interval) if v.interval else "",
        format_percent(v.threshold) if v.threshold and v.outcome in COMPARED else "",
        format_percent(v.detectable) if v.detectable is not None else "",
        "" if time_ns is None else format_time(time_ns),
        format_time(command.alone_ns),
        f"{'' if command.peak_is_known else 'at most '}{format_bytes(command.peak_bytes)}",
        str(each.pairs or ""),
        one_line(command.text),
    ]


def time_of(result: DuetResult, each: CommandVerdict) -> float | None:
    """Return the time of a command. Two medians would not fit the change, which is measured in
    pairs, so it is reckoned from the first command's.
    """
    first, interval = result.commands[0].time_ns, each.verdict.interval
    if interval is None or first is None:
        return result.commands[each.command].time_ns
    return first * (1 + interval.change)


def duet_remarks(result: DuetResult) -> Iterator[str]:
    """Yield what the numbers do not show."""
    if result.interrupted:
        yield "Interrupted: the verdicts rest on what was measured until then."
    for each in result.verdicts:
        text = one_line(result.commands[each.command].text)
        v = each.verdict
        label = f" ({v.label})" if v.label else ""
        if v.outcome not in WITHIN | {Outcome.REGRESSED} or label:
            yield f"{text}: {WORDS[v.outcome]}: {v.reason}{label}"
        if ratio := _ratio(result, each):
            yield ratio
    for command in result.commands:
        for remark in command_remarks(command, result.settings):
            yield f"{one_line(command.text)}: {remark}"


def _ratio(result: DuetResult, each: CommandVerdict) -> str | None:
    """Return a large change as a factor; None: it is none."""
    interval = each.verdict.interval
    if interval is None or interval.change <= -1:
        return None
    first, text = (one_line(result.commands[n].text) for n in (0, each.command))
    factor = 1 + interval.change
    if factor >= TOLD_RATIO:
        return f"{text} takes {factor:.3g} times as long as {first}"
    if factor <= 1 / TOLD_RATIO:
        return f"{text} is {1 / factor:.3g} times as fast as {first}"
    return None


def command_remarks(command: CommandResult, settings: DuetSettings) -> Iterator[str]:
    """Yield what is to be known of how a command runs, for its figures to be understood."""
    if command.busy_cores < WAITS_BELOW and not settings.waits:
        share = format_percent(1 - command.busy_cores, signed=False)
        yield (
            f"it waits for {share} of its time, and CPU time does not see that: "
            "--waits judges by the clock"
        )
    elif command.alone_ns < SHORT_NS:
        shell = " and its shell" if settings.commands.shell else ""
        yield (
            f"it ends after {format_time(command.alone_ns)}, most of which is the start of a "
            f"process{shell}: give it more to do"
        )
    if command.busy_cores > SEVERAL_ABOVE and not settings.waits:
        yield (
            f"alone it computes on {command.busy_cores:.1f} cores, and here both sides share one: "
            "--waits leaves it all of them"
        )
    for status, runs in sorted((command.statuses or {}).items()):
        every = len(command.alone) + len(command.times_ns)
        yield f"{runs} of its {every} runs {render_status(status)}"
    if command.left:
        yield f"it left {command.left} processes running, which were ended and counted with it"


# -- Markdown -----------------------------------------------------------------------------------


def duet_markdown(result: DuetResult) -> str:
    """Return the table, and the remarks as a list."""
    titles, *rows = duet_rows(result)
    lines = [
        "| " + " | ".join(["verdict", *titles[1:]]) + " |",
        "|" + "|".join(["---", *["---:"] * (len(titles) - 2), "---"]) + "|",
    ]
    lines += ["| " + " | ".join([*row[:-1], code(row[-1])]) + " |" for row in rows]
    notes = [f"- {code(note)}" for note in duet_remarks(result)]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


# -- data ---------------------------------------------------------------------------------------


def duet_as_dict(result: DuetResult, created: str, machine: Fingerprint) -> dict[str, Any]:
    """Return all of it. `results` has the names and the seconds of hyperfine's export, so that what
    reads those reads these.
    """
    settings = result.settings
    return {
        "schema": SCHEMA,
        "created": created,
        "measured": "wall time" if settings.waits else "CPU time",
        "shell": settings.commands.shell,
        "threshold": settings.threshold,
        "budget": settings.budget_s,
        "seconds": result.seconds,
        "interrupted": result.interrupted,
        "cores": list(result.cores),
        "machine": machine,
        "results": [_result(command) for command in result.commands],
        "verdicts": [_verdict(result, each) for each in result.verdicts],
        "exit_code": int(result.exit_code),
    }


def _result(command: CommandResult) -> dict[str, Any]:
    times = [time_ns / 1e9 for time_ns in command.times_ns]
    system = statistics.fmean(command.system_ns) / 1e9 if command.system_ns else None
    mean = statistics.fmean(times) if times else None
    return {
        "command": command.text,
        "mean": mean,
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times) if times else None,
        "system": system,
        "min": min(times, default=None),
        "max": max(times, default=None),
        "times": times,
        "alone": [run.wall_ns / 1e9 for run in command.alone],
        "alone_cpu": [run.cpu_ns / 1e9 for run in command.alone],
        "memory_usage_byte": [run.peak_bytes for run in command.alone],
        "memory_is_bound": not command.peak_is_known,
        "failed": {str(status): runs for status, runs in (command.statuses or {}).items()},
        "left_running": command.left,
    }


def _verdict(result: DuetResult, each: CommandVerdict) -> dict[str, Any]:
    v = each.verdict
    return {
        "command": result.commands[each.command].text,
        "against": result.commands[0].text,
        "outcome": v.outcome.value,
        "change": v.interval and v.interval.change,
        "low": v.interval and v.interval.low,
        "high": v.interval and v.interval.high,
        "threshold": v.threshold,
        "detectable": v.detectable,
        "severity": v.severity and v.severity.value,
        "label": v.label,
        "reason": v.reason,
        "pairs": each.pairs,
        "blocks": list(each.changes),
    }
