"""The run by category: how many tests, how fast, how large, how they ended."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_rlperf.model.quantity import format_rate
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.evidence import head_rate
from pytest_rlperf.report.text import Rows, aligned, render_summary

MEGABYTE = 1e6
UNCATEGORISED = "(none)"


@dataclass(frozen=True, slots=True)
class Spread:
    """A quantity over the tests of a category that have it."""

    mean: float
    sd: float | None  # None: there is one test only
    largest: float
    tests: int


@dataclass(frozen=True, slots=True)
class Category:
    """The tests of one category, taken together."""

    name: str
    tests: int
    steps_per_s: Spread | None  # of tests that declare their steps
    calls_per_s: Spread | None  # where none does
    memory_bytes: Spread | None
    outcomes: str


def by_category(run: RunResult) -> list[Category]:
    """Return them in the order of their first test; steps and calls are not averaged together."""
    groups: dict[str, list[TestResult]] = {}
    for test in run.tests:
        groups.setdefault(test.spec.category or UNCATEGORISED, []).append(test)
    return [_category(name, tests, run) for name, tests in groups.items()]


def _category(name: str, tests: Sequence[TestResult], run: RunResult) -> Category:
    rates = {test.nodeid: rate for test in tests if (rate := head_rate(test)) is not None}
    stepping = _spread([rates[t.nodeid] for t in tests if t.steps and t.nodeid in rates])
    memory = [statistics.median(test.memory_bytes) for test in tests if test.memory_bytes]
    return Category(
        name=name,
        tests=len(tests),
        steps_per_s=stepping,
        calls_per_s=None if stepping else _spread(list(rates.values())),
        memory_bytes=_spread(memory),
        outcomes=render_summary(replace(run, tests=tuple(tests))),
    )


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    sd = statistics.stdev(values) if len(values) > 1 else None
    return Spread(statistics.fmean(values), sd, max(values), len(values))


def render_categories(run: RunResult) -> list[str]:
    return aligned(category_rows(run))


def category_rows(run: RunResult) -> Rows:
    """Return the titles and a row for each category; nothing where there is one only, which the
    summary of the run has described already.
    """
    categories = by_category(run)
    if len(categories) < 2:
        return []
    head = ["category", "tests", "mean throughput ± sd", "memory, mean and most", "outcomes"]
    return [head, *map(_row, categories)]


def _row(category: Category) -> list[str]:
    rates = {"steps/s": category.steps_per_s, "calls/s": category.calls_per_s}
    return [
        category.name,
        str(category.tests),
        _throughput(rates, category.tests),
        _memory(category.memory_bytes),
        category.outcomes,
    ]


def _throughput(rates: Mapping[str, Spread | None], tests: int) -> str:
    for unit, spread in rates.items():
        if spread is not None:
            sd = "" if spread.sd is None else f" ± {format_rate(spread.sd)}"
            of = "" if spread.tests == tests else f" (of {spread.tests})"
            return f"{format_rate(spread.mean)}{sd} {unit}{of}"
    return ""


def _memory(spread: Spread | None) -> str:
    if spread is None:
        return ""
    mean, most = (format_rate(size / MEGABYTE) for size in (spread.mean, spread.largest))
    return f"{mean} MB, {most} MB"
