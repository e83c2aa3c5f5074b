"""Words, tables and foreign text, as all reports write them."""

import html
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TextIO

from pytest_rlperf.model.kpi import Status
from pytest_rlperf.model.metric import (
    COMPARED,
    UNSURE,
    WORST_FIRST,
    Interval,
    MetricFamily,
    Outcome,
    Verdict,
    badness,
)
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import Fingerprint, RunResult, TestResult

WORDS = {outcome: outcome.value.replace("_", " ") for outcome in Outcome}
WORDS[Outcome.SLOWER] = "slower (allowed)"
WORDS[Outcome.REGRESSED] = "REGRESSED"
DETECTS = "the smallest slowdown that this run would have called a regression."


def time_title(against: str | None) -> str:
    """Return what stands above a column of times; None: there is one side only."""
    return "time a call" if against is None else "base → head"


def render_word(verdict: Verdict) -> str:
    """Return the outcome with its severity: "REGRESSED (high)"."""
    return WORDS[verdict.outcome] + (f" ({verdict.severity.value})" if verdict.severity else "")


def render_interval(interval: Interval) -> str:
    """Return "[+1.2, +3.4 %]"."""
    return f"[{format_percent(interval.low)}, {format_percent(interval.high)}]".replace(" %,", ",")


# -- lines of a terminal, and tables of plain text ----------------------------------------------


class Style(StrEnum):
    """How much a line should catch the eye."""

    PLAIN = "plain"
    POOR = "poor"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class StyledLine:
    """A line of the terminal."""

    text: str
    style: Style = Style.PLAIN


STYLES = {Outcome.REGRESSED: Style.BAD, Status.ALERT: Style.BAD, Status.MISSED: Style.POOR}
"""All others are plain."""

Rows = list[list[str]]
"""Titles and rows of a table; nothing at all where there is no row."""


def filled(rows: Sequence[Sequence[str]], first: bool = False) -> Rows:
    """Return the table without its empty columns; `first`: the first one stays all the same."""
    if not rows:
        return []
    keep = [c for c in range(len(rows[0])) if (first and c == 0) or any(r[c] for r in rows[1:])]
    return [[row[c] for c in keep] for row in rows]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: columns as wide as their widest cell, the last one as it is,
    empty ones dropped.
    """
    shown = filled(rows, first=True)
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for row in shown:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return lines


def table_lines(
    rows: Sequence[Sequence[str]], outcomes: Iterable[Outcome | Status]
) -> list[StyledLine]:
    """Return the aligned table, each row below the titles in the style of its outcome."""
    styles = (STYLES.get(outcome, Style.PLAIN) for outcome in outcomes)
    return [
        StyledLine(text, style)
        for text, style in zip(aligned(rows), chain([Style.PLAIN], styles), strict=False)
    ]


# -- remarks on tests ---------------------------------------------------------------------------

NAMED = 3
"""The number of tests that a common remark names; more are counted."""


def by_remark(remarked: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the tests that each remark is made on, of pairs of a node id and a remark."""
    nodeids: dict[str, list[str]] = {}
    for nodeid, remark in remarked:
        nodeids.setdefault(remark, []).append(nodeid)
    return nodeids


def render_remarks(remarked: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a line a remark, and where it is made on several tests another that names some."""
    for remark, nodeids in by_remark(remarked).items():
        if len(nodeids) == 1:
            yield f"{nodeids[0]}: {remark}"
            continue
        yield f"{render_tests(len(nodeids))}: {remark}"
        yield f"  {name_some(nodeids)}"


def name_some(nodeids: Sequence[str]) -> str:
    """Return "a, b, c and 80 more"."""
    more = len(nodeids) - NAMED
    return ", ".join(nodeids[:NAMED]) + (f" and {more} more" if more > 0 else "")


# -- facts about machine and libraries ----------------------------------------------------------


def fact_rows(fingerprint: Fingerprint) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each fact; what is not known is left out."""
    for name, value in fingerprint.items():
        if name != "threads" and value not in (None, [], {}):
            yield name.replace("_", " "), _fact(value)


def _fact(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# -- foreign text in Markdown and HTML, shown as it is ------------------------------------------
#
# A node id holds whatever a parameter was called. Inside a code span nothing has a meaning but
# backticks, and in a table pipes, which cannot be escaped where a backslash stands before them. Ids
# that hold either are written in HTML, each odd character as a number, which holds everywhere.

CODE_SPAN = re.compile(r"[^`|\s](?:[^`|\r\n]*[^`|\s])?")
"""What may stand between two backticks, in a table too."""
ODD = re.compile(r"[^A-Za-z0-9 -]")
"""Dots, slashes and colons too: GitHub makes links of addresses."""
SPECIAL = re.compile(r"[\\`*_\[\]<>|~&$]")
LINKED = re.compile(r"[@#]|GH-(?=\d)|:(?=//)|www(?=\.)", re.IGNORECASE)
"""What GitHub makes a mention or a link of, with whatever follows; a space of no width keeps it."""


def code(text: str) -> str:
    """Return Markdown that shows the text as code, in running text and in tables."""
    if CODE_SPAN.fullmatch(text):
        return f"`{text}`"
    return f"<code>{ODD.sub(lambda match: f'&#{ord(match[0])};', text)}</code>"


def html_code(text: str) -> str:
    """Return HTML that shows the text as code where no Markdown is read, as in a `<summary>`."""
    escaped = html.escape(text, quote=False).replace("\n", "&#10;")
    return f"<code>{escaped}</code>"


def plain(text: str) -> str:
    """Return running text on one line; GitHub makes no emphasis, link or mention of it."""
    escaped = SPECIAL.sub(_escaped, " ".join(text.split()))
    return LINKED.sub(lambda match: f"{match[0]}&#8203;", escaped)


def _escaped(match: re.Match[str]) -> str:
    return html.escape(match[0]) if match[0] in "<>&" else f"\\{match[0]}"


ORDER = re.compile(r"(^[^\S\n]*:)(?=:)|##(?=\[)", re.MULTILINE)
"""What GitHub would obey in the log of a job: two colons at the beginning of a line, or the older
sign, which it looks for in all of it.
"""


def fenced(text: str, language: str = "") -> str:
    """Return a block of code, fenced by more backticks than it holds. A job that prints the file
    obeys none of its lines.
    """
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    shown = ORDER.sub(lambda match: f"{match[0]} ", text)
    return f"{fence}{language}\n{shown}\n{fence}"


def encodable(text: str) -> str:
    """Return text that UTF-8 can hold: names of files may have bytes that are none."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""What a terminal obeys, what turns the direction of text, and what HTML and XML cannot hold."""


def printable(text: str) -> str:
    """Return the text with all that acts on its reader, or that no document can hold, written as
    Python would.
    """
    return CONTROL.sub(lambda match: repr(match[0])[1:-1], encodable(text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """Return a text that a crafted file may have several lines in as the one it should be."""
    return " ".join(text.split())


class Harmless(io.TextIOBase):
    """A stream that hands on what is printed, without what would act on its reader: commands show
    what files hold, and a file may come from anybody.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = False  # in the middle of a line, after more than blanks

    def write(self, text: str) -> int:
        begun = self._begun
        shown = ORDER.sub(
            lambda m: m[0] if m[1] and begun and not m.start() else f"{m[0]} ", printable(text)
        )
        _, ended, rest = text.rpartition("\n")
        self._begun = bool(rest.strip()) or (begun and not ended)
        self._stream.write(shown)
        return len(text)

    def flush(self) -> None:
        # Whoever lets go of this flushes it, and since Python 3.13 is told where that fails.
        if not self._stream.closed:
            self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()


@contextmanager
def harmless_output() -> Iterator[None]:
    with redirect_stdout(Harmless(sys.stdout)), redirect_stderr(Harmless(sys.stderr)):
        yield


def html_text(text: str) -> str:
    """Return HTML that shows the text in an element, or in an attribute between quotes."""
    return html.escape(printable(text))


# -- what every report says first: which revision, how many tests ended how -----------------------

SHORT = 10
"""Digits of a commit: GitHub links them."""
INTERRUPTED = "Interrupted: the verdicts rest on what was measured until then."


def render_head(run: RunResult) -> str:
    """Return which revision was measured."""
    commit = run.commit[:SHORT] if run.commit else "The working tree"
    return f"{commit} with uncommitted changes" if run.commit and run.dirty else commit


def render_subject(run: RunResult) -> str:
    """Return what a report is about; a shard's is no report of the suite."""
    return "Performance" if run.shard is None else f"Performance, {run.shard.number}"


def render_verdict(run: RunResult) -> str:
    """Return the verdict on the whole run, as a sentence that begins with a small letter."""
    outcomes = [test.outcome for test in run.tests]
    slower, broken = outcomes.count(Outcome.REGRESSED), outcomes.count(Outcome.FAILED)
    unsure = sum(outcome in UNSURE for outcome in outcomes)
    verdicts = [verdict for test in run.tests for verdict in test.verdicts]
    if not any(v.interval and v.outcome in COMPARED for v in verdicts):
        return "nothing was compared."
    text = f"{slower} of {render_tests(len(outcomes))} {_worse_how(run)} than allowed"
    if not slower:
        text = "nothing regressed"
    if broken:
        text += f", {render_tests(broken)} failed"
    if unsure:
        text += f", {unsure} without a verdict"
    return f"{text}."


def _worse_how(run: RunResult) -> str:
    """Return "slower or larger": the ways in which tests are worse."""
    worse = [m for test in run.tests for m in test.metrics if m.outcome is Outcome.REGRESSED]
    families = {metric.family for metric in worse}
    larger, learning = MetricFamily.MEMORY in families, MetricFamily.LEARNING in families
    slower = not learning or bool(families - {MetricFamily.MEMORY, MetricFamily.LEARNING})
    words = ["slower"] * slower + ["larger"] * larger + ["learning less"] * learning
    return " or ".join(words)


def render_tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"


def render_summary(run: RunResult) -> str:
    """Return "1 regressed, 8 unchanged": worst first."""
    counts = Counter(test.outcome for test in run.tests)
    return ", ".join(f"{counts[o]} {WORDS[o].lower()}" for o in WORST_FIRST if counts[o])


def render_undecided(run: RunResult) -> str | None:
    """Return that time was too short for most tests, and what would do; None: it was not."""
    tests = [t for t in run.tests if t.outcome not in (Outcome.FAILED, Outcome.SKIPPED)]
    missing = (Outcome.INCONCLUSIVE, Outcome.NOT_MEASURED)
    decided = sum(test.outcome not in missing for test in tests)
    if run.interrupted or run.needed_s is None or 2 * decided >= len(tests):
        return None
    cure = f"--rlperf-budget={run.needed_s:.0f} would do"
    return f"only {decided} of {render_tests(len(tests))} were decided; {cure}."


def worst_first(test: TestResult) -> tuple[int, int, float]:
    """Return the key that sorts tests by outcome, then by severity, then by the change of time."""
    interval = test.headline.interval
    return *badness(test.worst), -(interval.change if interval else 0.0)
