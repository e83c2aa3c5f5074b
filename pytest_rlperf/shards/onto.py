"""A run of some tests laid over a full result: the suite stays whole, and each test says which run
it is from.

Nothing is judged anew. A test that was measured again has its new verdict, any other the one that
it had, with what it was compared with then; each run has kept its own budget of false alarms.
"""

import datetime
from collections.abc import Set
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from pytest_rlperf.errors import ExitCode, UsageError
from pytest_rlperf.model.kpi import Status
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Part, RunResult, TestResult
from pytest_rlperf.reading import refuse
from pytest_rlperf.report.result_file import ANEW
from pytest_rlperf.report.text import SHORT
from pytest_rlperf.shards.union import FinishedRun, claimed_first, part_of


def lay_over(full: FinishedRun, top: FinishedRun) -> FinishedRun:
    """Return the full result with the tests of `top` in place of the same ones, or behind them."""
    if full.run.shard is not None:
        raise UsageError(
            f"{full.path} is {full.run.shard.number} and no full result; merge its shards first."
        )
    if _moment(top.path, top.run) < _moment(full.path, full.run):
        raise UsageError(
            f"{top.path} is older than {full.path}, whose tests it would replace; name the newer "
            "one, and the older one with --onto."
        )
    below = _with_parts(full.run, frozenset())
    run = _laid_over(below, _with_parts(top.run, {part.name for part in below.parts}))
    return FinishedRun(top.path, run, _exit_code(run, top))


def _moment(path: Path, run: RunResult) -> datetime.datetime:
    """Return when it was; a time without a zone is one of UTC."""
    try:
        moment = datetime.datetime.fromisoformat(run.created)
    except ValueError:
        refuse(path, f"is of {run.created!r}, which is no time", ANEW)
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


# -- which run a test is from -------------------------------------------------------------------


def _with_parts(run: RunResult, taken: Set[str]) -> RunResult:
    """Return the run with a part for every test, whose names are none of those `taken`."""
    if not run.parts:
        when = run.created[:16].replace("T", " ")
        name = f"{when} {run.commit[:SHORT]}" if run.commit else when
        run = replace(
            run,
            tests=tuple(replace(test, part=name) for test in run.tests),
            parts=(part_of(run, name),),
        )
    names = {part.name: _new(part, taken) for part in run.parts}
    return replace(
        run,
        tests=tuple(replace(t, part=names[t.part]) if t.part else t for t in run.tests),
        parts=tuple(replace(part, name=names[part.name]) for part in run.parts),
    )


def _new(part: Part, taken: Set[str]) -> str:
    """Return the name of a part, with when it was where another run has that name already."""
    later = (f"{part.name}, {part.created}{f' ({k})' if k > 1 else ''}" for k in count(1))
    return next(name for name in chain([part.name], later) if name not in taken)


# -- the one result ---------------------------------------------------------------------------


def _laid_over(full: RunResult, top: RunResult) -> RunResult:
    new = {test.nodeid: test for test in top.tests}
    gone = {test.nodeid for test in top.vanished}
    kept = [test for test in full.tests if test.nodeid not in gone]
    replaced = [new.get(test.nodeid, test) for test in kept]
    added = [test for test in top.tests if test.nodeid not in {t.nodeid for t in kept}]
    tests = (*replaced, *added)
    used = {test.part for test in tests}
    others = {test.nodeid for test in kept} - new.keys()
    return replace(
        top,
        against=full.against if top.against is None else top.against,
        tests=tests,
        interrupted=top.interrupted,
        vanished=(*top.vanished, *(v for v in full.vanished if v.nodeid not in {*new, *gone})),
        kpis=claimed_first(
            [
                *(kpi for kpi in full.kpis if kpi.nodeid is None or kpi.nodeid in others),
                *top.kpis,
            ]
        ),
        scaling=(
            # Of a table some of whose sizes were measured again the others say nothing any more.
            *(t for t in full.scaling if all(row.nodeid in others for row in t.rows)),
            *top.scaling,
        ),
        shard=None,
        parts=tuple(part for part in (*full.parts, *top.parts) if part.name in used),
    )


# -- its exit code ------------------------------------------------------------------------------


def _exit_code(run: RunResult, top: FinishedRun) -> int:
    """Return that of the run on top; where that is fine, whether any other test still fails."""
    if top.exit_code != ExitCode.FINE:
        return top.exit_code
    new = {test.nodeid for test in top.run.tests}
    failing = any(_fails(test, run) for test in run.tests if test.nodeid not in new)
    return ExitCode.FAILED if failing else ExitCode.FINE


def _fails(test: TestResult, run: RunResult) -> bool:
    alerts = {kpi.nodeid for kpi in run.kpis if kpi.status is Status.ALERT}
    rows = (row for table in run.scaling for row in table.rows)
    inefficient = {row.nodeid for row in rows if row.efficiency.outcome is Outcome.REGRESSED}
    failed = test.outcome in (Outcome.REGRESSED, Outcome.FAILED)
    return failed or test.nodeid in alerts | inefficient
