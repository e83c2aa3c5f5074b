"""A run without a revision: it compares with the stored baselines, or saves them.

`BaselineRun` takes what the run is held against from the stored tests, and decides whether what was
measured may be saved. Above it are pure functions: from stored tests to levels, and from a run to
what is stored.
"""

import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from pytest_rlperf.baselines.file import Accepted, Session, Stored, StoredLearning, StoredMemory
from pytest_rlperf.baselines.folder import (
    Baselines,
    check_writable,
    drop_pending,
    keep_pending,
    names_in,
    save_into,
)
from pytest_rlperf.baselines.levels import (
    CLOCK,
    LearningLevel,
    Level,
    MemoryLevel,
    fit_weights,
    kernel_ratios,
    learning_level,
    level_of,
    memory_level,
)
from pytest_rlperf.errors import UsageError
from pytest_rlperf.gate.partners import THRESHOLD_STORED, Alone, Kernels, Partner
from pytest_rlperf.gate.selection import Scope
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.machine.fingerprint import comparable, machine_facts, read_machine
from pytest_rlperf.metrics.times import start_block, start_key
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.kpi import Status
from pytest_rlperf.model.learning import LEAST_SEEDS
from pytest_rlperf.model.metric import TIME, MetricFamily, Outcome
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import Facts, Fingerprint, RunResult, TestResult, Vanished
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.options import DEFAULT_NAME, Settings
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.trees.cache import cache_folder
from pytest_rlperf.worker.kernels import EDITION
from pytest_rlperf.workers.planning import WAITS_SHARE

# -- from stored tests to levels -----------------------------------------------------------------


def facts_of(fingerprint: Fingerprint, threads: int) -> Facts:
    """Return the facts under which a test with so many threads is measured in this run."""
    return {**comparable(fingerprint, threads), "kernels": EDITION, **_besides_code(fingerprint)}


def _besides_code(fingerprint: Fingerprint) -> Facts:
    """Return what has to be as it was where the same code shall take the same time."""
    installed, around = fingerprint.get("distributions"), fingerprint.get("surroundings")
    return {"distributions": installed, "surroundings": around}


def levels_of(
    stored: Mapping[str, Stored],
    benchmarks: Iterable[Benchmark],
    fingerprint: Fingerprint,
    judge_foreign: bool = False,
) -> dict[str, Level | Ended]:
    """Return what each test, and each start it asks for, is held against, if it is stored."""
    return {
        key: level_of(baseline, b.source_hash, facts_of(fingerprint, b.spec.threads), judge_foreign)
        for b in benchmarks
        if b.timed and b.nodeid in stored
        for key, baseline in _with_starts(stored[b.nodeid], b.spec)
    }


def _with_starts(test: Stored, spec: Spec) -> Iterator[tuple[str, Stored]]:
    yield test.nodeid, test
    for name in spec.starts:
        if name in test.starts:
            yield start_key(test.nodeid, name), test.starts[name]


def memory_levels_of(
    stored: Mapping[str, Stored], benchmarks: Iterable[Benchmark], fingerprint: Fingerprint
) -> dict[str, MemoryLevel | Ended]:
    """Return what the memory of each test is held against, if anything of it is stored."""
    levels = {
        b.nodeid: memory_level(
            stored[b.nodeid], b.source_hash, facts_of(fingerprint, b.spec.threads)
        )
        for b in benchmarks
        if b.memory and b.nodeid in stored
    }
    return {nodeid: level for nodeid, level in levels.items() if level is not None}


def learning_levels_of(
    stored: Mapping[str, Stored], benchmarks: Iterable[Benchmark], fingerprint: Fingerprint
) -> dict[str, LearningLevel | Ended]:
    """Return what the learning of each test is held against, if anything of it is stored."""
    levels = {
        b.nodeid: learning_level(
            stored[b.nodeid],
            b.source_hash,
            facts_of(fingerprint, b.spec.threads),
            versions_of(fingerprint),
        )
        for b in benchmarks
        if b.learning and b.nodeid in stored
    }
    return {nodeid: level for nodeid, level in levels.items() if level is not None}


def versions_of(fingerprint: Fingerprint) -> dict[str, str]:
    """Return the versions that what is learned comes from; that of the gate is none of them."""
    libraries = {n: v for n, v in fingerprint["libraries"].items() if n not in NOT_LEARNED_FROM}
    return {"Python": fingerprint["python"], **libraries}


NOT_LEARNED_FROM = frozenset({"pytest-rlperf", "pytest"})


def vanished(stored: Mapping[str, Stored], benchmarks: Sequence[Benchmark]) -> list[Vanished]:
    """Return stored tests that the whole suite does not have, with the new name where one fits."""
    present = {b.nodeid for b in benchmarks}
    new = [b for b in benchmarks if b.nodeid not in stored]
    return [
        Vanished(nodeid, _new_name(test, new))
        for nodeid, test in stored.items()
        if nodeid not in present
    ]


def _new_name(gone: Stored, new: Iterable[Benchmark]) -> str | None:
    """Return the one new test with the same source; cases of a parametrized one share it."""
    same = [b.nodeid for b in new if b.source_hash and b.source_hash == gone.source_hash]
    case = [nodeid for nodeid in same if _case(nodeid) == _case(gone.nodeid)]
    fitting = case or same
    return fitting[0] if len(fitting) == 1 else None


def _case(nodeid: str) -> str:
    return nodeid.partition("::")[2].partition("[")[2]


# -- from a run to what is stored ----------------------------------------------------------------


def to_store(run: RunResult, stored: Mapping[str, Stored]) -> list[Stored]:
    """Return the new baseline of every test that was measured enough."""
    passed = [test for test in run.tests if not test.failure and test.skipped is None]
    return [_stored(test, stored.get(test.nodeid), run) for test in passed if _is_enough(test)]


def _is_enough(test: TestResult) -> bool:
    if test.learning is not None:
        return len(test.learning.head) >= LEAST_SEEDS
    return len(test.memory_bytes if test.time is None else test.blocks) >= LEAST_BLOCKS


def _stored(test: TestResult, old: Stored | None, run: RunResult) -> Stored:
    accepted = (*(old.accepted if old else ()), *_to_accept(test, run))
    memory = _memory(test, run)
    if test.time is None:
        return Stored(
            test.nodeid,
            test.source_hash,
            weights={},
            sessions=(),
            accepted=accepted,
            memory=memory,
            learning=_learning(test, run),
        )
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
    """Return a start's baseline as a test's own; what was accepted of it stands with the test."""
    alone = replace(
        test,
        spec=replace(test.spec, imports=(), first_call=False),
        blocks=tuple(start_block(block, name) for block in test.blocks),
        memory=None,
        metrics=tuple(metric for metric in test.metrics if metric.name == TIME),
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
        values={m.name: m.head for m in test.metrics if m.family is MetricFamily.MEMORY},
    )


def _learning(test: TestResult, run: RunResult) -> StoredLearning | None:
    if test.learning is None:
        return None
    return StoredLearning(
        created=run.created,
        commit=run.commit,
        dirty=run.dirty,
        facts=facts_of(run.fingerprint, test.spec.threads),
        versions=versions_of(run.fingerprint),
        trainings=tuple(
            # A traceback names files of this machine.
            replace(training.thinned(), failure=training.last_words)
            for training in test.learning.head
        ),
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
    """Return whether a test waits. One that computes all the time must not be measured by the clock
    on the wall: the speed of a shared machine changes by tens of percent from hour to hour.
    """
    cpu = sum(sum(block.head.cpu_ns) for block in test.blocks)
    own = sum(sum(block.head.own_ns) for block in test.blocks)
    return cpu < WAITS_SHARE * own


def _adds_to(old: Stored, test: TestResult, new: Session) -> bool:
    """Return whether it is a further session of one clean commit and benchmark under like facts."""
    if new.dirty or new.commit is None or old.source_hash != test.source_hash:
        return False
    return all(
        session.commit == new.commit and not session.dirty and session.facts == new.facts
        for session in old.sessions
    )


def _to_accept(test: TestResult, run: RunResult) -> tuple[Accepted, ...]:
    """Return the regressions that the baseline takes over. Each enters only with a reason: the
    project's own, or one that is still to be given.
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


# -- the run -------------------------------------------------------------------------------------


def has_own_baseline(settings: Settings) -> bool:
    """Return whether this machine has a stored baseline of the name to compare with."""
    name = settings.baseline or DEFAULT_NAME
    return Baselines(settings.baselines, name, machine_facts(read_machine())).has_own


class SavedAt(NamedTuple):
    """A commit at which these tests were measured, with all as it is now besides their code."""

    commit: str
    tests: frozenset[str]
    created: str  # when the first of them was saved


def _is_of_here(level: Level | MemoryLevel | Ended | None) -> bool:
    """Return whether a level was measured on this machine, by this build of Python."""
    if isinstance(level, Level):
        return level.foreign is None and not level.floor
    return level is None or (isinstance(level, MemoryLevel) and level.elsewhere is None)


class BaselineRun:
    """What one run takes from the stored baselines, and what it leaves there."""

    def __init__(self, settings: Settings, root: Path) -> None:
        self._settings = settings
        self._root = root
        self._name = settings.save or settings.baseline or DEFAULT_NAME
        self._baselines: Baselines | None = None
        self._stored: dict[str, Stored] = {}
        self._levels: dict[str, Level | Ended] = {}
        self.vanished: tuple[Vanished, ...] = ()
        self.memory_levels: dict[str, MemoryLevel | Ended] = {}
        self.learning_levels: dict[str, LearningLevel | Ended] = {}

    @classmethod
    def of(cls, settings: Settings, root: Path) -> Self:
        """Make the run; refuse at once what could not work after minutes of measuring."""
        if settings.save is not None:
            _refuse_two_names(settings)
            check_writable(settings.baselines)
        elif settings.baseline is not None:
            _refuse_unknown(settings.baseline, settings.baselines)
        return cls(settings, root)

    @property
    def mode(self) -> str:
        return "stored" if self._settings.save is None else "save"

    @property
    def label(self) -> str | None:
        """The name of the baseline that was compared with, or shown beside; None: neither."""
        parts = (self._levels, self.memory_levels, self.learning_levels)
        levels = (level for part in parts for level in part.values())
        fits = any(isinstance(level, Level | MemoryLevel | LearningLevel) for level in levels)
        return f"baseline {self._name!r}" if fits else None

    @property
    def foreign(self) -> bool:
        """Whether all times that these tests are held against were saved on another machine."""
        levels = [level for level in self._levels.values() if isinstance(level, Level)]
        return bool(levels) and all(level.foreign for level in levels)

    @property
    def header(self) -> str:
        s = self._settings
        allowed = format_percent(THRESHOLD_STORED if s.threshold is None else s.threshold)
        doing = "saving" if s.save is not None else "against"
        return f"{doing} the stored baseline {self._name!r}, allowed {allowed}"

    @property
    def nothing_compared(self) -> str:
        if self._settings.save is not None:
            return "nothing was compared, since nothing was stored yet that fits these tests."
        others = (*self.memory_levels.values(), *self.learning_levels.values())
        compared = any(isinstance(level, MemoryLevel | LearningLevel) for level in others)
        what = "NO TIME" if compared else "NOTHING"
        return (
            f"{what} WAS COMPARED: {self._why_nothing}; save one with pytest --rlperf "
            "--rlperf-save, or compare with a revision: pytest --rlperf --rlperf-against=REF."
        )

    @property
    def _why_nothing(self) -> str:
        if self._stored and not (self._levels or self.memory_levels or self.learning_levels):
            return (
                f"the stored baseline {self._name!r} has none of these tests, but others such as "
                f"{min(self._stored)}"
            )
        if self.foreign:
            return (
                f"the stored baseline {self._name!r} is of another machine, so changes are shown, "
                "not judged"
            )
        return f"there is no stored baseline {self._name!r} that fits"

    def partner(
        self,
        benchmarks: Sequence[Benchmark],
        fingerprint: Fingerprint,
        scope: Scope,
        suite: Sequence[Benchmark] = (),
    ) -> Partner:
        """Load the baselines and return the partner that the tests are measured beside; `suite` are
        all tests that were collected, where these are some of them.
        """
        s = self._settings
        self._baselines = Baselines(s.baselines, self._name, facts_of(fingerprint, 1))
        if s.save is not None:
            check_writable(self._baselines.own_folder)
        self._stored = self._baselines.load()
        if scope.whole:
            known = {n: test for n, test in self._stored.items() if scope.holds(n)}
            self.vanished = tuple(vanished(known, suite or benchmarks))
        self._levels = levels_of(self._stored, benchmarks, fingerprint, s.judge_foreign)
        self.memory_levels = memory_levels_of(self._stored, benchmarks, fingerprint)
        self.learning_levels = learning_levels_of(self._stored, benchmarks, fingerprint)
        if s.save is None and not self._levels:
            return Alone(s.threshold)
        return Kernels(self._levels, s.save is not None, s.threshold)

    def saved_at(self, fingerprint: Fingerprint) -> SavedAt | None:
        """Return the commit that most of the tests were saved at; None: it is known of no test."""
        facts = _besides_code(fingerprint)
        if self._settings.save is not None or None in facts.values():
            return None
        tests: dict[str, set[str]] = {}
        for nodeid in (self._levels.keys() | self.memory_levels.keys()) & self._stored.keys():
            levels = self._levels.get(nodeid), self.memory_levels.get(nodeid)
            commit = self._stored[nodeid].measured_at(facts)
            if commit is not None and all(map(_is_of_here, levels)):
                tests.setdefault(commit, set()).add(nodeid)
        commit = max(tests, key=lambda sha: len(tests[sha]), default=None)
        if commit is None:
            return None
        parts = (part for nodeid in tests[commit] for part in self._stored[nodeid].parts)
        return SavedAt(commit, frozenset(tests[commit]), min(part.created for part in parts))

    def keep(self, run: RunResult, collected: bool) -> tuple[str, ...]:
        """Save what was measured if it may be, and return what to say about it. `collected` tells
        whether every module could be.
        """
        if self._settings.save is None or self._baselines is None:
            return ()
        if run.interrupted:
            return ("nothing was saved, since the run was interrupted.",)
        if not collected or _failed(run):
            return ("nothing was saved, since a test failed; a failed run is no baseline.",)
        return self._save(self._baselines.own_folder, run)

    def _save(self, folder: Path, run: RunResult) -> tuple[str, ...]:
        tests, cache = to_store(run, self._stored), cache_folder(os.environ)
        if any(test.outcome is Outcome.REGRESSED for test in run.tests):
            keep_pending(cache, self._root, folder, self._name, tests)
            return (
                "nothing was saved, since a test regressed; mend it, or take it over with "
                "rlperf accept --reason TEXT.",
            )
        if not tests:
            return ("nothing was saved, since nothing was measured; raise --rlperf-budget.",)
        save_into(folder, tests, {test.nodeid for test in self.vanished})
        drop_pending(cache, folder)
        return tuple(_what_was_saved(run, len(tests), os.path.relpath(folder, self._root)))


def _refuse_two_names(settings: Settings) -> None:
    if settings.baseline not in (None, settings.save):
        raise UsageError(
            f"--rlperf-save={settings.save} is compared with the baseline that it replaces, not "
            f"with {settings.baseline!r}; write --rlperf-save={settings.baseline}, or leave "
            "--rlperf-baseline out."
        )


def _refuse_unknown(name: str, folder: Path) -> None:
    known = names_in(folder)
    if name not in known:
        there = f"there are {', '.join(known)}" if known else "there is none"
        raise UsageError(
            f"no baseline is named {name!r} in {folder}, {there}; save it with "
            f"--rlperf-save={name}."
        )


def _failed(run: RunResult) -> bool:
    alerts = any(kpi.status is Status.ALERT for kpi in run.kpis)
    return alerts or any(test.failure for test in run.tests)


def _what_was_saved(run: RunResult, saved: int, where: str) -> Iterator[str]:
    yield f"saved {_tests(saved)} in {where}; commit it."
    short = sum(test.skipped is None for test in run.tests) - saved
    if short:
        yield f"{_tests(short)} not saved, since the time ran out; raise --rlperf-budget."
    if run.vanished:
        yield f"{_tests(len(run.vanished))} dropped from it, since the suite has them no more."


def _tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"
