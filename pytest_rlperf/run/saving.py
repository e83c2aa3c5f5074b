"""From a run to the baselines it leaves: sessions, and the kernels each test is measured in."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_rlperf.judge.reference import CLOCK, fit_weights, kernel_ratios
from pytest_rlperf.judge.starts import start_block, start_key
from pytest_rlperf.judge.stored import Level, level_of
from pytest_rlperf.judge.stored_memory import MemoryLevel, memory_level
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.launch.fingerprint import comparable
from pytest_rlperf.measure.kernels import EDITION
from pytest_rlperf.measure.planning import WAITS_SHARE
from pytest_rlperf.model.baseline import Accepted, Session, Stored, StoredMemory
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.result import RunResult, TestResult, Vanished
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.run.track import Benchmark


def facts_of(fingerprint: Mapping[str, Any], threads: int) -> dict[str, Any]:
    return {**comparable(fingerprint, threads), "kernels": EDITION}


def levels_of(
    stored: Mapping[str, Stored], benchmarks: Iterable[Benchmark], fingerprint: Mapping[str, Any]
) -> dict[str, Level | Ended]:
    """What each test, and each start that it asks for, is held against; those without a baseline
    are not in it.
    """
    return {
        key: level_of(found, b.source_hash, facts_of(fingerprint, b.spec.threads))
        for b in benchmarks
        if b.timed and b.nodeid in stored
        for key, found in _with_starts(stored[b.nodeid], b.spec)
    }


def _with_starts(test: Stored, spec: Spec) -> Iterator[tuple[str, Stored]]:
    yield test.nodeid, test
    for name in spec.starts:
        if name in test.starts:
            yield start_key(test.nodeid, name), test.starts[name]


def memory_levels_of(
    stored: Mapping[str, Stored], benchmarks: Iterable[Benchmark], fingerprint: Mapping[str, Any]
) -> dict[str, MemoryLevel | Ended]:
    """The same for memory."""
    found = {
        b.nodeid: memory_level(
            stored[b.nodeid], b.source_hash, facts_of(fingerprint, b.spec.threads)
        )
        for b in benchmarks
        if b.memory and b.nodeid in stored
    }
    return {nodeid: level for nodeid, level in found.items() if level is not None}


def vanished(stored: Mapping[str, Stored], benchmarks: Sequence[Benchmark]) -> list[Vanished]:
    """Stored tests that the whole suite does not have, with the new name where one fits."""
    present = {b.nodeid for b in benchmarks}
    new = [b for b in benchmarks if b.nodeid not in stored]
    return [
        Vanished(nodeid, _new_name(test, new))
        for nodeid, test in stored.items()
        if nodeid not in present
    ]


def _new_name(gone: Stored, new: Iterable[Benchmark]) -> str | None:
    """Of a new test with the same source; cases of a parametrized one share it."""
    same = [b.nodeid for b in new if b.source_hash and b.source_hash == gone.source_hash]
    case = [nodeid for nodeid in same if _case(nodeid) == _case(gone.nodeid)]
    found = case or same
    return found[0] if len(found) == 1 else None


def _case(nodeid: str) -> str:
    return nodeid.partition("::")[2].partition("[")[2]


def to_store(run: RunResult, stored: Mapping[str, Stored]) -> list[Stored]:
    """The new baseline of every test that was measured enough."""
    return [
        _stored(test, stored.get(test.nodeid), run)
        for test in run.tests
        if _is_enough(test) and not test.failure and test.skipped is None
    ]


def _is_enough(test: TestResult) -> bool:
    return (len(test.blocks) if test.timed else len(test.memory_bytes)) >= LEAST_BLOCKS


def _stored(test: TestResult, old: Stored | None, run: RunResult) -> Stored:
    accepted = (*(old.accepted if old else ()), *_to_accept(test, run))
    memory = _memory(test, run)
    if not test.timed:
        return Stored(test.nodeid, test.source_hash, {}, (), accepted=accepted, memory=memory)
    session = _session(test, run)
    sessions = (*old.sessions, session) if old and _adds_to(old, test, session) else (session,)
    blocks = [block for each in sessions for block in each.blocks]
    return Stored(
        nodeid=test.nodeid,
        source_hash=test.source_hash,
        weights=fit_weights(blocks, besides=frozenset() if _waits(test) else frozenset({CLOCK})),
        sessions=sessions,
        steps=test.steps,
        work=test.blocks[-1].head.work,
        accepted=accepted,
        memory=memory,
        starts={name: _start(test, name, old, run) for name in test.spec.starts},
    )


def _start(test: TestResult, name: str, old: Stored | None, run: RunResult) -> Stored:
    """As if it were a test of its own; what was accepted of it is told with the test."""
    alone = replace(
        test,
        spec=replace(test.spec, imports=(), first_call=False),
        blocks=tuple(start_block(block, name) for block in test.blocks),
        memory=None,
        extras=(),
    )
    stored = _stored(alone, old.starts.get(name) if old else None, run)
    return replace(stored, accepted=())


def _memory(test: TestResult, run: RunResult) -> StoredMemory | None:
    if test.memory is None or len(test.memory_bytes) < LEAST_BLOCKS:
        return None
    return StoredMemory(
        created=run.created,
        commit=run.commit,
        dirty=run.dirty,
        facts=facts_of(run.fingerprint, test.spec.threads),
        repeats=test.memory.repeats,
        values={found.metric.name: found.head for found in test.memory.metrics},
    )


def _session(test: TestResult, run: RunResult) -> Session:
    return Session(
        created=run.created,
        commit=run.commit,
        dirty=run.dirty,
        facts=facts_of(run.fingerprint, test.spec.threads),
        call_ns=statistics.median(block.head.call_ns for block in test.blocks),
        blocks=tuple(kernel_ratios(block) for block in test.blocks),
    )


def _waits(test: TestResult) -> bool:
    """A test that computes all the time must not be measured by the clock on the wall: the speed
    of a shared machine changes by tens of percent from hour to hour.
    """
    cpu = sum(sum(block.head.cpu_ns) for block in test.blocks)
    own = sum(sum(block.head.own_ns) for block in test.blocks)
    return cpu < WAITS_SHARE * own


def _adds_to(old: Stored, test: TestResult, new: Session) -> bool:
    """Another session of the same clean commit and benchmark under the same facts."""
    if new.dirty or new.commit is None or old.source_hash != test.source_hash:
        return False
    return all(
        session.commit == new.commit and not session.dirty and session.facts == new.facts
        for session in old.sessions
    )


def _to_accept(test: TestResult, run: RunResult) -> tuple[Accepted, ...]:
    """A regression enters a baseline only with a reason: the project's own, or one that is still
    to be given.
    """
    return tuple(
        Accepted(
            reason=verdict.reason if verdict.outcome is Outcome.ACCEPTED else "",
            created=run.created,
            commit=run.commit,
            change=round(verdict.interval.change, 6) if verdict.interval else 0.0,
        )
        for verdict in test.verdicts
        if verdict.outcome in (Outcome.REGRESSED, Outcome.ACCEPTED)
    )
