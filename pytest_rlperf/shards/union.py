"""The results of all shards of a suite as one, with one exit code.

A verdict needs nothing of the other shards: each of them knew how many verdicts the suite has, and
left as many times less to chance (`stats.decide`). So putting them together judges nothing anew. It
makes sure that they are the parts of one whole: none is missing, none is there twice, and all of
them were cut from the same suite, of the same commits, by the same rules.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import cast

from pytest_rlperf.errors import ExitCode, UsageError
from pytest_rlperf.model.kpi import KpiResult
from pytest_rlperf.model.result import Fingerprint, Part, RunResult, TestResult, Vanished
from pytest_rlperf.model.shard import Shard
from pytest_rlperf.report.text import SHORT, name_some

ANEW = "measure them again, all of one commit and with the same options"


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run with the exit code that it came to, and where its result lies."""

    path: Path
    run: RunResult
    exit_code: int


def union(results: Sequence[FinishedRun]) -> FinishedRun:
    """Return what all shards of a suite come to; raises a sentence where they are not that."""
    shards = {each.path: _shard_of(each) for each in results}
    _refuse_other_numbers(results, shards)
    _refuse_different(results)
    ordered = sorted(results, key=lambda each: shards[each.path].index)
    first = shards[ordered[0].path]
    _refuse_gaps([each.run for each in ordered], first)
    run = _merged([each.run for each in ordered], first)
    return FinishedRun(ordered[0].path, run, _exit_code(run, ordered))


def _shard_of(measured: FinishedRun) -> Shard:
    if measured.run.parts:
        raise UsageError(
            f"{measured.path} was put together of several runs already; name the results of single "
            "runs with --rlperf-shard, or lay one over it with --onto."
        )
    if measured.run.shard is None:
        raise UsageError(
            f"{measured.path} is no shard: its run had no --rlperf-shard; name the shards of one "
            "suite, or lay it over a full result with --onto."
        )
    return measured.run.shard


# -- what is refused --------------------------------------------------------------------------


def _refuse_other_numbers(results: Sequence[FinishedRun], shards: Mapping[Path, Shard]) -> None:
    first, *others = results
    for other in others:
        one, two = shards[first.path], shards[other.path]
        if one.count != two.count:
            raise UsageError(
                f"{first.path} is {one.number}, and {other.path} is {two.number}; name the shards "
                "of one run."
            )
    there: dict[int, Path] = {}
    for each in results:
        shard = shards[each.path]
        if shard.index in there:
            raise UsageError(
                f"{shard.number} is there twice, in {there[shard.index]} and {each.path}; leave "
                "one of them out."
            )
        there[shard.index] = each.path
    count = shards[first.path].count
    missing = [index for index in range(1, count + 1) if index not in there]
    if len(missing) == 1:
        raise UsageError(
            f"shard {missing[0]} of {count} is missing: its run left no result, or it was not "
            "named; measure it again."
        )
    if missing:
        raise UsageError(
            f"shards {_listed(missing)} of {count} are missing: their runs left no result, or they "
            "were not named; measure them again."
        )


def _listed(numbers: Sequence[int]) -> str:
    *some, last = map(str, numbers)
    return f"{', '.join(some)} and {last}"


Asked = tuple[str, Callable[[RunResult], object]]

ALIKE: tuple[Asked, ...] = (
    ("the commit", lambda run: _short(run.commit)),
    ("having uncommitted changes", lambda run: "yes" if run.dirty else "no"),
    ("the mode", lambda run: run.mode),
    ("the base commit", lambda run: _short(run.base_commit)),
    ("what the base's environment differs in", lambda run: _environments(run)),
    ("the version of pytest-rlperf", lambda run: _libraries(run).get("pytest-rlperf")),
    ("the interpreter", lambda run: _python(run)),
)
"""What the runs of all shards have to have in common."""


def _short(commit: str | None) -> str | None:
    return commit and commit[:SHORT]


def _environments(run: RunResult) -> str | None:
    """Return the differences of both environments; None: there is one only."""
    both = run.environments
    return None if both is None else ", ".join(map(str, both.differences))


def _libraries(run: RunResult) -> Mapping[str, str]:
    libraries = run.fingerprint.get("libraries")
    return libraries if isinstance(libraries, dict) else {}


def _python(run: RunResult) -> str:
    """Return the interpreter without the last part of its version, which machines may differ in."""
    version = str(run.fingerprint.get("python", "")).split(".")[:2]
    return f"{run.fingerprint.get('implementation', '')} {'.'.join(version)}".strip()


def _refuse_different(results: Sequence[FinishedRun]) -> None:
    for one, two in pairwise(sorted(results, key=lambda each: _shard_of(each).index)):
        for what, ask in ALIKE:
            _refuse_unlike(one, two, what, ask(one.run), ask(two.run))
        a, b = _shard_of(one), _shard_of(two)
        for name in sorted({*a.rules, *b.rules}):
            _refuse_unlike(one, two, name, a.rules.get(name), b.rules.get(name))
        only = sorted({*a.suite} ^ {*b.suite})
        if only:
            raise UsageError(
                f"{a.number} ({one.path}) and {b.number} ({two.path}) did not collect the same "
                f"suite: only one of them has {name_some(only)}; {ANEW}."
            )
        _refuse_unlike(one, two, "the number of verdicts", a.verdicts, b.verdicts)
        if a.split != b.split:
            raise UsageError(
                f"{a.number} ({one.path}) and {b.number} ({two.path}) shared the suite out by "
                "different seconds; give all shards the same file with --rlperf-shard-by."
            )
    stored = {each.run.against for each in results if each.run.base_commit is None} - {None}
    if len(stored) > 1:  # a shard whose tests have no baseline names none
        names = " and ".join(sorted(map(str, stored)))
        raise UsageError(f"the shards were compared with {names}; {ANEW}.")


def _refuse_unlike(
    one: FinishedRun, two: FinishedRun, what: str, first: object, second: object
) -> None:
    if first != second:
        a, b = _shard_of(one).number, _shard_of(two).number
        raise UsageError(
            f"{a} ({one.path}) and {b} ({two.path}) are not of one suite: {what} is "
            f"{_said(first)} in the first and {_said(second)} in the second; {ANEW}."
        )


def _said(value: object) -> str:
    return "none" if value is None else str(value)


def _refuse_gaps(runs: Sequence[RunResult], shard: Shard) -> None:
    """Refuse shards that do not have every test of the suite once."""
    ran = Counter(test.nodeid for run in runs for test in run.tests)
    twice = sorted(nodeid for nodeid, number in ran.items() if number > 1)
    lost, strange = sorted({*shard.suite} - {*ran}), sorted({*ran} - {*shard.suite})
    for nodeids, trouble in (
        (twice, "stands in more than one shard"),
        (strange, "stands in a shard, and is not of its suite"),
        (lost, "is of the suite, and stands in no shard"),
    ):
        if nodeids:
            raise UsageError(f"{name_some(nodeids)} {trouble}; {ANEW}.")


# -- the one result ---------------------------------------------------------------------------


def part_of(run: RunResult, name: str) -> Part:
    """Return what a result that holds tests of a run tells of it, under this name."""
    return Part(
        name=name,
        mode=run.mode,
        against=run.against,
        commit=run.commit,
        base_commit=run.base_commit,
        dirty=run.dirty,
        created=run.created,
        seconds=run.seconds,
        fingerprint=run.fingerprint,
    )


def _merged(runs: Sequence[RunResult], shard: Shard) -> RunResult:
    """Return all tests in the order of the suite. Seconds add up: they are those of machines."""
    first = runs[0]
    parts = [part_of(run, f"shard {index}") for index, run in enumerate(runs, start=1)]
    tests = {
        test.nodeid: replace(test, part=part.name)
        for part, run in zip(parts, runs, strict=True)
        for test in run.tests
    }
    costs, budgets = [run.cost for run in runs], [run.budget_s for run in runs]
    return replace(
        first,
        against=next((run.against for run in runs if run.against is not None), None),
        dirty=any(run.dirty for run in runs),
        created=max(run.created for run in runs),
        fingerprint=common_facts([run.fingerprint for run in runs]),
        tests=tuple(tests[nodeid] for nodeid in shard.suite),
        seconds=sum(run.seconds for run in runs),
        interrupted=any(run.interrupted for run in runs),
        vanished=_vanished(runs, tests),
        kpis=claimed_first([kpi for run in runs for kpi in run.kpis]),
        scaling=tuple(table for run in runs for table in run.scaling),
        code_changes=next((r.code_changes for r in runs if r.code_changes is not None), None),
        cost=reduce(add, (c for c in costs if c is not None)) if all(costs) else None,
        budget_s=sum(b for b in budgets if b is not None) if None not in budgets else None,
        needed_s=max((run.needed_s for run in runs if run.needed_s is not None), default=None),
        shard=None,
        parts=tuple(parts),
    )


def common_facts(fingerprints: Sequence[Fingerprint]) -> Fingerprint:
    """Return the facts that are the same in all runs; each run keeps its own beside them. Threads
    are told by test, so all of them belong together.
    """
    first, *others = (cast(Mapping[str, object], each) for each in fingerprints)
    same = {name: fact for name, fact in first.items() if all(o.get(name) == fact for o in others)}
    threads = [each["threads"] for each in fingerprints if isinstance(each.get("threads"), dict)]
    return cast(Fingerprint, {**same, **({"threads": reduce(_or, threads)} if threads else {})})


def _or(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return one | other


def _vanished(runs: Sequence[RunResult], present: Mapping[str, TestResult]) -> tuple[Vanished, ...]:
    """Return what any shard misses, as long as none of the others has it."""
    every = {test.nodeid: test for run in runs for test in run.vanished}
    return tuple(test for nodeid, test in every.items() if nodeid not in present)


def claimed_first(kpis: Sequence[KpiResult]) -> tuple[KpiResult, ...]:
    """Return the KPIs that tests claim, then those that no test of any run does."""
    claimed = [kpi for kpi in kpis if kpi.nodeid is not None]
    names = {kpi.kpi.name for kpi in claimed}
    unclaimed = {k.kpi.name: k for k in kpis if k.nodeid is None and k.kpi.name not in names}
    return (*claimed, *unclaimed.values())


# -- the one exit code --------------------------------------------------------------------------

GRAVE = (ExitCode.FAILED, ExitCode.INTERRUPTED)
"""Codes that one shard gives to all, the first of them before the second."""


def _exit_code(run: RunResult, results: Sequence[FinishedRun]) -> int:
    """Return that of a run which had measured all tests itself."""
    codes = {each.exit_code for each in results}
    grave = [code for code in GRAVE if code in codes]
    others = sorted(codes - {*GRAVE, ExitCode.FINE, ExitCode.NOTHING_COMPARED})
    if grave or others:
        return [*grave, *others][0]
    asked = any(_shard_of(each).asked for each in results)
    return ExitCode.NOTHING_COMPARED if asked and not run.compared else ExitCode.FINE
