"""What a run of one shard takes from the suite, and what it tells the others through its result.

The seconds by which a suite is shared out come from a file that all shards have: a result that an
option names, or the stored baselines as the commit holds them. Those in the folder may be newer on
one machine than on another, and what a machine remembers in its cache is its own affair.
"""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, fields
from pathlib import Path

from pytest_rlperf.baselines.file import Stored, module_from
from pytest_rlperf.errors import RlperfError
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.memory import Excess
from pytest_rlperf.model.plan import Scouted
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.shard import Shard, ShardNumber
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.options import DEFAULT_NAME, Settings
from pytest_rlperf.reading import parse_json
from pytest_rlperf.report.result_file import read_run
from pytest_rlperf.shards.split import split
from pytest_rlperf.trees.git import files_at, top_level
from pytest_rlperf.workers.planning import block_seconds, choose_plan

BLOCKS = 5
"""Blocks until the typical test is decided."""
AROUND_S = 0.13
"""What a test takes of a block besides its slices (see `planning.BLOCK_NS`)."""
CORES = 2
"""Reckoned with on every machine, however many it has: the split must not depend on that."""


# -- what is known of the seconds of tests --------------------------------------------------------


def known_seconds(
    settings: Settings, root: Path, benchmarks: Sequence[Benchmark]
) -> dict[str, float]:
    """Return the seconds that tests are known to take, the same on every machine of one commit."""
    if settings.shard_by is not None:
        run, _ = read_run(settings.shard_by)
        return {test.nodeid: s for test in run.tests if (s := _seconds_of(test)) > 0}
    specs = {b.nodeid: b.spec for b in benchmarks}
    name = settings.save or settings.baseline or DEFAULT_NAME
    return {
        nodeid: _forecast_s(statistics.median_low(calls_ns), specs[nodeid])
        for nodeid, calls_ns in _committed_ns(settings.baselines, name, root).items()
        if nodeid in specs
    }


def _seconds_of(test: TestResult) -> float:
    """Return what the test took; 0 where it was not measured, which says nothing of next time."""
    measured = test.blocks or test.memory or test.learning
    return sum(astuple(test.cost)) if test.cost and measured else 0.0


def _forecast_s(call_ns: float, spec: Spec) -> float:
    seen = Scouted(call_ns, call_ns, cpu_share=1.0, processes=1)
    return BLOCKS * (AROUND_S + block_seconds(choose_plan(seen, spec, CORES), seen))


def _committed_ns(folder: Path, name: str, root: Path) -> dict[str, list[float]]:
    """Return the times of a call that the baselines of this name hold, of all machines: which of
    them a shard will run on is not known to the others.
    """
    calls_ns: dict[str, list[float]] = {}
    for path, content in _committed(folder, root).items():
        if name not in path.parts[1:2]:  # <machine key>/<name>/<test module>.json
            continue
        tests: Mapping[str, Stored] = {}
        with suppress(RlperfError, ValueError):  # whoever compares with it says what is wrong
            tests = module_from(path, parse_json(content))
        for nodeid, test in tests.items():
            times = [session.call_ns for session in test.sessions]
            calls_ns.setdefault(nodeid, []).extend(times)
    return {nodeid: times for nodeid, times in calls_ns.items() if times}


def _committed(folder: Path, root: Path) -> dict[Path, bytes]:
    """Return the files of the folder as the commit has them, by their path in it."""
    try:
        top, _ = top_level(root)
        where = folder.resolve().relative_to(top.resolve())
        files = files_at(top, "HEAD", where.as_posix())
    except (RlperfError, ValueError):  # no repository, or a folder outside of it
        return {}
    return {Path(path).relative_to(where): content for path, content in files.items()}


# -- the shard of a run ---------------------------------------------------------------------------


def shard_of(
    number: ShardNumber,
    suite: Sequence[Benchmark],
    seconds: Mapping[str, float],
    *,
    verdicts: int,
    rules: Mapping[str, str],
    asked: bool,
) -> tuple[Shard, frozenset[str]]:
    """Return what the result tells of the shard, and the tests that it runs."""
    shares = split(suite, number.count, seconds)
    shard = Shard(
        index=number.index,
        count=number.count,
        suite=tuple(b.nodeid for b in suite),
        verdicts=verdicts,
        split=shares.digest,
        rules=rules,
        asked=asked,
    )
    return shard, shares.shards[number.index - 1]


def rules_of(settings: Settings) -> dict[str, str]:
    """Return the options that decide what verdicts are given and what they come to. Shards that
    differ in one would make a result that no single run could have.
    """
    limits = {
        f"limit of memory, {field.name}": _limit(getattr(settings.limits, field.name))
        for field in fields(settings.limits)
    }
    return {
        "--rlperf-threshold": _or_default(settings.threshold),
        "--rlperf-strict": _yes_or_no(settings.strict),
        "--rlperf-same-code": "skip" if settings.skip_same_code else "measure",
        "--rlperf-foreign": "judge" if settings.judge_foreign else "show",
        "--rlperf-baseline": _or_default(settings.baseline),
        "--rlperf-save": _or_default(settings.save),
        **limits,
    }


def _or_default(value: object) -> str:
    return "the default" if value is None else str(value)


def _yes_or_no(wish: bool) -> str:
    return "yes" if wish else "no"


def _limit(limit: Excess | float) -> str:
    return f"{limit.share:g},{limit.amount:g}" if isinstance(limit, Excess) else f"{limit:g}"
