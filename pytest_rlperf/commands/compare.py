"""`rlperf compare A B`: two results side by side, numbers without an opinion.

The runs met different moments of one machine, or two machines. Their difference holds whatever was
different then, so it is never a verdict.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.errors import ExitCode
from pytest_rlperf.model.quantity import format_percent, format_rate, format_time, parse_fraction
from pytest_rlperf.report.result_file import ResultContent, read_result
from pytest_rlperf.report.text import aligned, one_line
from pytest_rlperf.trees.git import SHORT

Key = tuple[str, str, str | None]
"""Node id, metric and unit; None: it is a bare number."""

IRRELEVANT = ("threads", "pinned_to")
"""Facts that follow from the choice of tests and from the moment."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of one test in both results."""

    nodeid: str
    metric: str
    unit: str | None
    a: float | None  # None: not measured
    b: float | None
    change: float | None  # fraction, positive means worse in B
    outcome_a: str
    outcome_b: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something about machine or libraries that was not the same; None: not known there."""

    name: str
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class SideBySide:
    differences: tuple[Difference, ...]  # worst first
    only_a: tuple[str, ...]  # tests, and metrics of tests
    only_b: tuple[str, ...]
    edited: tuple[str, ...]  # tests whose own text is not the same
    facts: tuple[Fact, ...]

    @property
    def compared(self) -> bool:
        return any(difference.change is not None for difference in self.differences)

    def beyond(self, allowed: float) -> list[Difference]:
        return [d for d in self.differences if d.change is not None and d.change > allowed]


def side_by_side(a: ResultContent, b: ResultContent) -> SideBySide:
    tests_a, tests_b = ({test["nodeid"]: test for test in run["tests"]} for run in (a, b))
    metrics_a, metrics_b = _metrics(tests_a), _metrics(tests_b)
    both = [key for key in metrics_a if key in metrics_b]
    differences = [_difference(key, metrics_a[key], metrics_b[key]) for key in both]
    shared = [nodeid for nodeid in tests_a if nodeid in tests_b]
    return SideBySide(
        differences=tuple(sorted(differences, key=_worst_first)),
        only_a=_missing(metrics_a, metrics_b, tests_b),
        only_b=_missing(metrics_b, metrics_a, tests_a),
        edited=tuple(n for n in shared if _is_edited(tests_a[n], tests_b[n])),
        facts=tuple(_facts(_flat(a["fingerprint"]), _flat(b["fingerprint"]))),
    )


def _metrics(tests: Mapping[str, ResultContent]) -> dict[Key, ResultContent]:
    return {
        (nodeid, metric["name"], metric["unit"]): metric
        for nodeid, test in tests.items()
        for metric in test["metrics"]
    }


def _missing(here: Iterable[Key], there: Container[Key], tests: Container[str]) -> tuple[str, ...]:
    """Name tests that lack as a whole; a metric of a test that is there has its own name beside."""
    names = (
        f"{nodeid} ({metric}{f' in {unit}' if unit else ''})" if nodeid in tests else nodeid
        for nodeid, metric, unit in here
        if (nodeid, metric, unit) not in there
    )
    return tuple(dict.fromkeys(names))


def _difference(key: Key, a: ResultContent, b: ResultContent) -> Difference:
    nodeid, metric, unit = key
    return Difference(
        nodeid=nodeid,
        metric=metric,
        unit=unit,
        a=a["value"],
        b=b["value"],
        change=_change(a["value"], b["value"], a["direction"]),
        outcome_a=a["outcome"],
        outcome_b=b["outcome"],
    )


def _change(before: float | None, after: float | None, direction: str) -> float | None:
    if not before or not after:
        return None
    return after / before - 1 if direction == "lower" else before / after - 1


def _worst_first(difference: Difference) -> tuple[bool, float]:
    change = difference.change
    return change is None, -(change or 0.0)


def _is_edited(a: ResultContent, b: ResultContent) -> bool:
    hashes = a.get("source_hash"), b.get("source_hash")
    return all(hashes) and hashes[0] != hashes[1]


def _flat(fingerprint: ResultContent) -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in fingerprint.items():
        if isinstance(value, Mapping):
            inner = {one_line(str(k)): one_line(str(v)) for k, v in value.items()}
            flat |= {} if name in IRRELEVANT else inner
        elif name not in IRRELEVANT:
            flat[one_line(name)] = one_line(str(value))
    return flat


def _facts(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Fact]:
    for name in dict.fromkeys((*a, *b)):
        if a.get(name) != b.get(name):
            yield Fact(name, a.get(name), b.get(name))


# -- as text ------------------------------------------------------------------------------------

NO_VERDICT = (
    "These are two runs at two moments: the change holds whatever else was different then, and is "
    "no verdict. For one, compare with a revision (--rlperf-against) or a stored baseline."
)


def render_run(name: str, path: str, result: ResultContent) -> str:
    """Say which result stands under A or B."""
    parts = [path, str(result["created"])]
    if commit := result.get("commit"):
        changes = " with uncommitted changes" if result.get("dirty") else ""
        parts.append(f"commit {str(commit)[:SHORT]}{changes}")
    if against := result.get("against"):
        parts.append(f"judged against {one_line(against)}")
    return f"{name}: {', '.join(parts)}"


def render_side_by_side(results: SideBySide) -> list[str]:
    lines: list[str] = []
    if results.facts:
        lines.append("DIFFERENT CONDITIONS: a change below may come from these alone")
        lines += [
            f"  {fact.name}: {_value_in('A', fact.a)}, {_value_in('B', fact.b)}"
            for fact in results.facts
        ]
    if results.differences:
        head = ["metric", "A", "B", "change", "verdict in A", "in B", "test"]
        lines += ["", *aligned([head, *map(_row, results.differences)])]
    lines += [""] if results.only_a or results.only_b or results.edited else []
    lines += [f"only in A: {nodeid}" for nodeid in results.only_a]
    lines += [f"only in B: {nodeid}" for nodeid in results.only_b]
    lines += [f"not the same test any more: {nodeid}" for nodeid in results.edited]
    lines += ["", NO_VERDICT if results.compared else "NOTHING WAS COMPARED: nothing is in both."]
    return lines


def _value_in(side: str, value: str | None) -> str:
    return f"unknown in {side}" if value is None else f"{value} in {side}"


def _row(difference: Difference) -> list[str]:
    return [
        difference.metric,
        _quantity(difference.a, difference.unit),
        _quantity(difference.b, difference.unit),
        "" if difference.change is None else format_percent(difference.change),
        difference.outcome_a.replace("_", " "),
        difference.outcome_b.replace("_", " "),
        difference.nodeid,
    ]


def _quantity(value: float | None, unit: str | None) -> str:
    if value is None:
        return "not measured"
    if unit == "ns":
        return format_time(value)
    return f"{format_rate(value)} {unit or ''}".rstrip()


# -- the command --------------------------------------------------------------------------------


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", type=Path, help="the older result")
    parser.add_argument("b", metavar="B", type=Path, help="the newer result")
    parser.add_argument(
        "--fail-on", metavar="20%", help="end with exit code 1 where B is worse by more than this"
    )


def run(arguments: Namespace) -> int:
    limit = arguments.fail_on
    allowed = None if limit is None else parse_fraction(limit, "--fail-on")
    a, b = read_result(arguments.a), read_result(arguments.b)
    results = side_by_side(a, b)
    print(render_run("A", str(arguments.a), a))
    print(render_run("B", str(arguments.b), b))
    print("\n".join(render_side_by_side(results)))
    return _exit_code(results, allowed)


def _exit_code(results: SideBySide, allowed: float | None) -> int:
    if not results.compared:
        return ExitCode.NOTHING_COMPARED
    if allowed is None:
        return 0
    beyond = results.beyond(allowed)
    for difference in beyond:
        change = format_percent(difference.change or 0.0)
        print(f"beyond {format_percent(allowed)}: {difference.metric} {change} {difference.nodeid}")
    return ExitCode.FAILED if beyond else ExitCode.FINE
