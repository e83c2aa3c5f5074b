"""The resumable run: suite after suite under load, every verdict on disk as soon as it is known."""

from __future__ import annotations

import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import children, facts, gate, projects, pytest_benchmark, schedule
from .cases import GATE, Case
from .gate import Suite
from .records import CRASHED, Facts, Record, Verdict, append, read

# A case that crashes this often in a row will not get better by being run once more.
CRASHES_IN_A_ROW = 3


@dataclass(frozen=True)
class Plan:
    """What to run: until each case has its verdicts or the time is up."""

    out: Path
    cases: tuple[Case, ...]
    minutes: float | None
    load: bool


def run(plan: Plan, pytest: Sequence[str] = gate.PYTEST) -> int:
    """Fill the file; 1 where a suite crashed. The suite under way is finished, whatever the time.

    Started again with the same file, it goes on where it stopped.
    """
    records = read(plan.out)
    plan.out.parent.mkdir(parents=True, exist_ok=True)
    end = None if plan.minutes is None else time.monotonic() + 60 * plan.minutes
    crashes: Counter[str] = Counter()
    crashed = False
    # Another seed for each start, so that a resumed run does not see the same load again.
    with children.running_load(plan.load, seed=len(records)) as load:
        while end is None or time.monotonic() < end:
            cases = [case for case in plan.cases if crashes[case.name] < CRASHES_IN_A_ROW]
            case = schedule.next_case(cases, records, plan.load)
            if case is None:
                break
            load.check()
            added = run_suite(case, records, plan.load, pytest)
            load.check()
            append(plan.out, added)
            records.extend(added)
            report(case, added, records)
            has_crashed = any(record.is_crash for record in added)
            crashes[case.name] = crashes[case.name] + 1 if has_crashed else 0
            crashed = crashed or has_crashed
    return int(crashed)


def run_suite(
    case: Case, records: Sequence[Record], load: bool, pytest: Sequence[str] = gate.PYTEST
) -> list[Record]:
    """Build a fresh project, have it judged, and throw it away."""
    number = schedule.suites_run(case, records, load)
    variant = schedule.variant_of(case, number)
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        folder = Path(name)
        scratch = folder / "scratch"
        scratch.mkdir()
        project = projects.build(folder, case.workload, case.change, variant, seed=number)
        if case.tool == GATE:
            suite = gate.run(case, project, scratch, pytest)
        else:
            suite = pytest_benchmark.run(case, project, scratch)
    if suite.problem:
        print(f"{case.name}: {suite.problem}\n{suite.tail}", file=sys.stderr, flush=True)
    return to_records(case, variant, suite, load, facts.collect())


def to_records(
    case: Case, variant: str, suite: Suite, load: bool, suite_facts: Facts
) -> list[Record]:
    verdicts = suite.verdicts or (Verdict("", CRASHED),)
    suite_id = uuid.uuid4().hex
    return [
        Record(
            tool=case.tool,
            case=case.name,
            kind=projects.kind_of(verdict.nodeid) if verdict.nodeid else "",
            variant=variant,
            suite=suite_id,
            truth=case.change.total,
            threshold=case.threshold,
            seconds=suite.seconds / len(case.workload.tests),
            load=load,
            verdict=verdict,
            facts=suite_facts,
            reason=suite.problem,
        )
        for verdict in verdicts
    ]


def report(case: Case, added: Sequence[Record], records: Sequence[Record]) -> None:
    outcomes = Counter(record.verdict.outcome for record in added)
    said = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
    first = added[0]
    done = schedule.counted(case, records, first.load)
    print(
        f"{case.name} ({first.variant}): {said}; {first.seconds:.1f} s a verdict; "
        f"{done} of {case.wanted}",
        flush=True,
    )
