"""What `--rlperf` changes about a pytest session: workers run the tests, verdicts are reported."""

import datetime
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rlperf.baselines.run import BaselineRun, has_own_baseline
from pytest_rlperf.environments.environment import describe, differences
from pytest_rlperf.environments.report import render_both
from pytest_rlperf.errors import ExitCode, RlperfError, never_fatal
from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.campaign import Campaign
from pytest_rlperf.gate.measuring import MeasuringSession
from pytest_rlperf.gate.partners import THRESHOLD_AGAINST, BaseRevision, Kernels, Partner
from pytest_rlperf.gate.publishing import report_tests, status_of
from pytest_rlperf.gate.remembered import RememberedScouts
from pytest_rlperf.gate.selection import Reached, reached_tests, selected_scope
from pytest_rlperf.gate.track import Benchmark, Track
from pytest_rlperf.gate.worker_args import (
    Elsewhere,
    Revisions,
    SavedRevision,
    staged,
    surroundings,
)
from pytest_rlperf.learning.campaign import LearningCampaign
from pytest_rlperf.learning.kept import FOLDER as TRAININGS
from pytest_rlperf.learning.kept import KeptTrainings, code_of
from pytest_rlperf.learning.runs import LearningRuns
from pytest_rlperf.learning.track import StoredReturns
from pytest_rlperf.machine.fingerprint import comparable
from pytest_rlperf.machine.host import available_cores
from pytest_rlperf.memory.campaign import MemoryCampaign
from pytest_rlperf.memory.runs import MemoryRuns
from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.environment import Environments, OtherPython
from pytest_rlperf.model.memory import JUDGED
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import Fingerprint, Progress, RunResult, TestResult
from pytest_rlperf.model.shard import Shard
from pytest_rlperf.mpi.scaling import efficiencies, scaling_tables, without_oversubscribed
from pytest_rlperf.options import Settings
from pytest_rlperf.profile.profiler import PROFILES_S, Profiler, point_to_revision
from pytest_rlperf.report.terminal import ProgressLine, render_header, render_sections
from pytest_rlperf.report.terse import render_terse
from pytest_rlperf.report.text import Style, render_summary, render_tests, render_undecided
from pytest_rlperf.shards.run import known_seconds, rules_of, shard_of
from pytest_rlperf.stats.verdicts import Ended, error_line
from pytest_rlperf.trees.cache import cache_folder, digest
from pytest_rlperf.trees.git import Revision, resolve
from pytest_rlperf.trees.overlay import overlay_files
from pytest_rlperf.wire import BASE, HEAD
from pytest_rlperf.workers.blocks import Blocks
from pytest_rlperf.workers.pair import Stage
from pytest_rlperf.workers.watched_runs import watched_runs

MEMORY_SHARE = 0.5
"""Of the budget, for memory at most before timing has its turn."""
LEARNING_SHARE = 0.5
"""The same for learning."""
NO_OWN = "no stored baseline of this machine"
SAVE_ONE = "pytest --rlperf --rlperf-save saves one here."
NO_TESTS = "NOTHING WAS COMPARED: no selected test uses the rlperf or benchmark fixture."


class GateSession(MeasuringSession):
    """The plugin object of a session that gives verdicts."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        super().__init__(config, settings)
        self._revisions = Revisions(
            head=_resolved(config.rootpath, settings.head),
            base=_resolved(config.rootpath, settings.against) or self._second_choice(),
            elsewhere=_described(settings.against_python),
        )
        self._environments = self._both_environments()
        self._store = None if self._duets else BaselineRun.of(settings, config.rootpath)
        self._untouched = False  # whether there are tests, and the change reaches none of them
        self._suite: list[Benchmark] = []  # those of other shards too
        self._shard: Shard | None = None  # None: the run is of the whole suite

    def _second_choice(self) -> Revision | None:
        """Return the revision of `--rlperf-else-against`, where this machine has no baseline."""
        ref = self._settings.else_against
        if ref is None or has_own_baseline(self._settings):
            return None
        try:
            revision = resolve(self._config.rootpath, ref)
        except RlperfError as error:
            self._notices += (f"{NO_OWN}, nor can {ref} be compared with instead: {error}",)
            return None
        self._notices += (f"{NO_OWN}: compared with {revision.label} instead; {SAVE_ONE}",)
        return revision

    def _both_environments(self) -> Environments | None:
        """Return in what the two environments differ; None: there is one only."""
        elsewhere = self._revisions.elsewhere
        if elsewhere is None:
            return None
        head, home = describe(sys.executable), self._project
        differing = differences(elsewhere.description, head, home)
        return Environments(elsewhere.python.place, differing)

    @property
    def _revision(self) -> Revision | None:
        return self._revisions.base

    @property
    def _duets(self) -> bool:
        """Return whether there is another side to play with: a revision or an environment."""
        return self._revision is not None or self._revisions.elsewhere is not None

    @property
    def _measures_working_tree(self) -> bool:
        return self._revisions.head is None

    @property
    def _against(self) -> str | None:
        revision = None if self._revision is None else self._revision.label
        if self._environments is None:
            return revision
        where = f"the environment {self._environments.base}"
        return f"{revision} in {where}" if revision else where

    @property
    def _profiles_s(self) -> float:
        """Return the most time that profiles may take after the verdicts."""
        return min(PROFILES_S, self._settings.budget_s)

    @property
    def _strict(self) -> bool:
        """Return whether a missing verdict fails the run. It does not where the run is saved: the
        next one shall have something to compare with, whatever this one had.
        """
        return self._settings.strict and self._settings.save is None

    # -- running ------------------------------------------------------------------------------

    def _narrowed(self, items: Sequence[pytest.Item]) -> Set[str]:
        if self._revision is None or not self._settings.reached:
            return super()._narrowed(items)
        reached = self._reached(items, self._revision)
        self._notices += () if reached.notice is None else (reached.notice,)
        self._untouched = bool(items) and not reached.nodeids
        return reached.nodeids

    def _shared_out(self, items: Sequence[pytest.Item]) -> Set[str]:
        self._suite = [self._benchmark(item) for item in items]
        number = self._settings.shard
        if number is None or not (self._suite or self._untouched):
            return super()._shared_out(items)
        self._shard, own = shard_of(
            number,
            self._suite,
            known_seconds(self._settings, self._config.rootpath, self._suite),
            verdicts=_gates(self._suite),
            rules=rules_of(self._settings),
            asked=self._comparison_asked and not self._untouched,
        )
        return own

    def _empty(self) -> RunResult | None:
        """Return the result of a shard that no test fell to: without it one would be missing."""
        if self._shard is None:
            return None
        mode = self._store.mode if self._store else "against"
        facts = self._facts((), available_cores())
        return self._judged(self._result(mode, (), facts, 0.0, interrupted=False))

    def _reached(self, items: Sequence[pytest.Item], base: Revision) -> Reached:
        """Return the tests that the change can reach; all of them where that is not known."""
        head = None if self._revisions.head is None else self._revisions.head.sha
        return reached_tests(items, self._config.rootpath, base.sha, head)

    def _first(self, items: Sequence[pytest.Item]) -> Set[str]:
        """Return the tests that come first where there is no time for all."""
        if self._revision is None or self._settings.reached:
            return frozenset()
        return self._reached(items, self._revision).nodeids

    def _measure(self, session: pytest.Session) -> None:
        collected = not session.testsfailed
        cores = available_cores()
        stream = session.config.get_terminal_writer()._file
        line = ProgressLine(None if self._settings.terse else stream)
        budget = Budget(self._settings.budget_s, time.monotonic())
        chosen = {item.nodeid for item in session.items}
        benchmarks = [b for b in self._suite if b.nodeid in chosen]
        facts = self._facts(session.items, cores)
        partner: Partner = BaseRevision(self._settings.threshold)
        if self._store is not None:
            scope = selected_scope(session.config)
            whole = scope.whole and collected
            facts |= {"surroundings": surroundings(session.config)}
            scope = replace(scope, whole=whole)
            partner = self._store.partner(benchmarks, facts, scope, self._suite)
        revisions = self._revisions._replace(saved=self._saved_revision(facts))
        with staged(session, self._settings, revisions, cores, partner) as (stage, notices):
            self._notices += notices
            blocks, spent_s = Blocks(stage), {"preparing": budget.elapsed_s()}
            watched = watched_runs(stage)
            memory = self._memory(benchmarks, stage, budget, line)
            learning = self._learning(benchmarks, stage, budget, line, facts)
            scouts = self._remembered_scouts(benchmarks, facts)
            campaign = Campaign(
                [b for b in benchmarks if b.timed],
                blocks,
                partner=partner,
                budget=budget,
                cores=len(cores),
                show=line.show,
                gates=_gates(self._suite),
                scouts=scouts.load(),
                first=lambda: self._first(session.items),
                besides_s=memory.needed_s,
                same_code=stage.same_code,
                watched=watched,
            )
            interrupted = True
            try:
                _measure_all(learning, memory, campaign, budget, spent_s)
                with _booked(spent_s, "profiles", budget), self._said("no profile"):
                    self._explain(list(campaign.tracks.values()), partner, stage, line)
                self._interrupts.keep()
                interrupted = False
            finally:  # Ctrl+C and SIGTERM too: what was measured is kept
                self._interrupts.keep()
                line.clear()
                seconds, needed_s = budget.elapsed_s(), campaign.needed_s
                if memory.unreached and needed_s is None:
                    needed_s = budget.advised_s(seconds + memory.needed_s())
                memory.close(budget.seconds, needed_s, interrupted)
                learning.close(budget.seconds, interrupted)
                with self._said("nothing is remembered for the next run"):
                    scouts.keep(campaign.scouts)
                mode = self._store.mode if self._store else "against"
                tests = _attached(benchmarks, campaign.results(), memory, learning)
                run = self._result(mode, tests, facts, seconds, interrupted)
                run = replace(run, budget_s=budget.seconds, needed_s=needed_s)
                scaling = scaling_tables(run.tests, _gates(self._suite))
                # Profiles and memory with their workers: of those tests only know their own part.
                parts = [test.cost for test in tests if test.cost]
                waited_s = blocks.waited_s + (watched.waited_s if watched else 0.0)
                cost = replace(sum(parts, Spending(workers=waited_s)), **spent_s)
                run = replace(run, scaling=scaling, cost=cost.within(seconds))
                changes = stage.same_code.changes if stage.same_code else None
                self._run = self._judged(replace(run, code_changes=changes))
                report_tests(session, self._run, self._strict)
                if self._store is not None:
                    self._notices += self._store.keep(self._run, collected)
        nodeids = [b.nodeid for b in self._suite]
        self._notices += self._rules.notices(nodeids, selected_scope(session.config))

    def _saved_revision(self, facts: Fingerprint) -> SavedRevision | None:
        """Return the commit whose code may be head's, and the tests that were saved there; None:
        there is none, or it is not known what was measured then.
        """
        saved = self._store.saved_at(facts) if self._store else None
        if saved is None or not self._settings.skip_same_code or self._settings.build:
            return None  # to build a tree takes longer than most tests
        with suppress(RlperfError):  # a clone may be shallow
            revision = resolve(self._config.rootpath, saved.commit)
            return SavedRevision(revision, saved.tests, saved.created)
        return None

    def _said(self, what: str) -> AbstractContextManager[None]:
        """Let what no verdict needs fail, and say so after them."""

        def note(why: str) -> None:
            self._notices += (f"{what}: {why}",)

        return never_fatal(note)

    def _explain(
        self, tracks: Sequence[Track], partner: Partner, stage: Stage, line: ProgressLine
    ) -> None:
        """Profile the tests that need it, or say which revision to compare with to have it done."""
        wish = self._settings.profile
        if isinstance(partner, Kernels):
            point_to_revision(tracks, partner, wish)
        else:
            own = cache_folder(os.environ) / "profiles" / digest(str(self._config.rootpath))
            graphs = self._settings.report or own
            Profiler(stage, wish, graphs, line.write, self._profiles_s).explain(tracks)

    def _learning(
        self,
        benchmarks: Sequence[Benchmark],
        stage: Stage,
        budget: Budget,
        line: ProgressLine,
        facts: Fingerprint,
    ) -> LearningCampaign:
        def show(progress: Progress) -> None:
            line.show(replace(progress, elapsed_s=budget.elapsed_s(), budget_s=budget.seconds))

        learning = LearningCampaign(
            [b for b in benchmarks if b.learning],
            LearningRuns(stage),
            gates=_gates(self._suite),
            show=show,
            kept=self._kept_trainings(benchmarks, facts),
            stored=self._stored_learning(),
            one_environment=self._environments is None,
        )
        _end_where_nothing_changed(stage, [each.track for each in learning.tracks.values()])
        return learning

    def _stored_learning(self) -> StoredReturns | None:
        """Return the baselines that learning is compared with; None: it is with a revision."""
        store = self._store
        if store is None:
            return None
        return StoredReturns(store.learning_levels, saving=self._settings.save is not None)

    def _kept_trainings(
        self, benchmarks: Sequence[Benchmark], facts: Fingerprint
    ) -> KeptTrainings | None:
        """Return what earlier runs have trained; None: nothing is learned here."""
        learning = [b for b in benchmarks if b.learning]
        if not learning or self._environments is not None:
            return None  # what is kept was trained in one environment
        config, root, base = self._config, self._config.rootpath, self._revision
        files = {root / b.nodeid.partition("::")[0] for b in learning}
        tests = overlay_files(root, files, config.inipath)
        around = {"distributions": facts.get("distributions"), "options": surroundings(config)}
        revisions = {HEAD: self._revisions.head} | ({} if base is None else {BASE: base})
        codes = {
            side: code_of(root, revision, tests, self._settings.baselines)
            for side, revision in revisions.items()
        }
        known = {side: code for side, code in codes.items() if code is not None}
        if len(known) < len(codes):
            return None
        return KeptTrainings(
            cache_folder(os.environ) / TRAININGS,
            known,
            {b.nodeid: json.dumps([comparable(facts, b.spec.threads), around]) for b in learning},
        )

    def _memory(
        self, benchmarks: Sequence[Benchmark], stage: Stage, budget: Budget, line: ProgressLine
    ) -> MemoryCampaign:
        def show(progress: Progress) -> None:
            line.show(replace(progress, elapsed_s=budget.elapsed_s(), budget_s=budget.seconds))

        memory = MemoryCampaign(
            [b for b in benchmarks if b.memory],
            MemoryRuns(stage),
            levels=self._store.memory_levels if self._store else {},
            limits=self._settings.limits,
            gates=_gates(self._suite),
            show=show,
        )
        _end_where_nothing_changed(stage, [each.track for each in memory.tracks.values()])
        return memory

    def _remembered_scouts(
        self, benchmarks: Sequence[Benchmark], facts: Fingerprint
    ) -> RememberedScouts:
        cache, root = cache_folder(os.environ), self._config.rootpath
        today = datetime.datetime.now(datetime.UTC).toordinal()
        timed = [b for b in benchmarks if b.timed]
        return RememberedScouts.of(cache, root, timed, facts, today)

    def _judged(self, run: RunResult) -> RunResult:
        """Return the run with what it was compared with, and judged by the project's rules."""
        if self._revisions.head is not None:
            run = replace(run, commit=self._revisions.head.sha, dirty=False)
        run = replace(run, tests=without_oversubscribed(run.tests), shard=self._shard)
        if self._store is None:
            base = None if self._revision is None else self._revision.sha
            run = replace(run, against=self._against, base_commit=base)
            run = replace(run, environments=self._environments)
        else:
            run = replace(run, against=self._store.label, vanished=self._store.vanished)
        return self._rules.applied(run)

    # -- reporting ----------------------------------------------------------------------------

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        if self._settings.terse:  # counted, and neither a letter nor a word of it shown
            return (report.outcome if report.when == "call" else ""), "", ""
        return status_of(report)

    def pytest_report_header(self) -> list[str]:
        s = self._settings
        if self._store is not None:
            partner = self._store.header
        else:
            allowed = THRESHOLD_AGAINST if s.threshold is None else s.threshold
            partner = f"against {self._against}, allowed {format_percent(allowed)}"
            if s.against is None and self._environments is None:
                partner = f"{NO_OWN}: {partner}"
        if s.shard is not None:
            partner = f"{s.shard}, {partner}"
        explains = self._duets and s.profile.on_regression
        most_s = self._profiles_s if explains else 0.0
        line = render_header(partner, s.budget_s, available_cores(), most_s)
        return [f"rlperf: {line}", *render_both(self._environments)]

    # The type is in quotes here and below: pytest 8.2 does not have it.
    def pytest_terminal_summary(
        self, terminalreporter: "pytest.TerminalReporter", exitstatus: int
    ) -> None:
        if self._settings.terse:
            broken = terminalreporter.stats.get("error", ())
            errors = (f"{each.nodeid}: {error_line(each.longreprtext)}" for each in broken)
            for text in render_terse(self._run, self._ended_with, self._said_of_all(), errors):
                terminalreporter.write_line(text)
        elif self._run is None or self._reaches_nothing:
            bad = self._ended_with == ExitCode.NOTHING_COMPARED
            for notice in self._said_of_all():
                terminalreporter.write_line(f"rlperf: {notice}", yellow=not bad, red=bad)
        else:
            self._tell(self._run, terminalreporter)
        for annotation in self._published.annotations:
            terminalreporter.write_line(annotation)

    def _tell(self, run: RunResult, terminal: "pytest.TerminalReporter") -> None:
        terminal.ensure_newline()
        summary = f"{render_summary(run) or 'no tests'} in {run.seconds:.0f} s"
        terminal.section(f"rlperf: {self._of_shard}{summary}")
        for line in render_sections(run):
            bad, poor = line.style is Style.BAD, line.style is Style.POOR
            terminal.write_line(line.text, red=bad, yellow=poor)
        for notice in (*self._notices, *self._published.notices):
            terminal.write_line(f"rlperf: {notice}", yellow=True)
        for advice in self._advice(run):
            terminal.write_line(f"rlperf: {advice}", yellow=True, bold=True)

    @property
    def _reaches_nothing(self) -> bool:
        return self._untouched and not (self._run and self._run.tests)

    def _said_of_all(self) -> tuple[str, ...]:
        """Return what is to be said beside the verdicts, or instead of them."""
        if self._reaches_nothing:
            return self._notices
        if self._run is not None:
            return (*self._notices, *self._published.notices, *self._advice(self._run))
        return (NO_TESTS,) if self._ended_with == ExitCode.NOTHING_COMPARED else ()

    @property
    def _of_shard(self) -> str:
        """Return what stands before the summary of a shard."""
        if self._shard is None:
            return ""
        return f"{self._shard.number} of {render_tests(len(self._shard.suite))}: "

    def _advice(self, run: RunResult) -> Iterator[str]:
        kept = self._settings.json or self._settings.report
        if self._shard is not None and kept is None:
            yield "this shard leaves nothing to rlperf merge; add --rlperf-json=FILE."
        if not run.tests:
            return  # of a shard
        if run.interrupted:
            yield "interrupted; the verdicts above rest on what was measured until then."
        if self._store is not None and (run.against is None or self._store.foreign):
            yield self._store.nothing_compared
        elif not run.compared:
            yield f"NOTHING WAS COMPARED with {run.against}; the reasons stand above."
        if undecided := render_undecided(run):
            yield undecided

    def _exit_code(self, status: int) -> int:
        """Return pytest's own code, unless a comparison was asked for and did not take place."""
        if status == pytest.ExitCode.NO_TESTS_COLLECTED and self._untouched:
            return pytest.ExitCode.OK
        fine = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if fine and self._shard is not None:
            return pytest.ExitCode.OK  # whether anything was compared, all shards say together
        if fine and self._comparison_asked:
            compared = self._run is not None and self._run.compared
            return status if compared else ExitCode.NOTHING_COMPARED
        return status

    @property
    def _comparison_asked(self) -> bool:
        return self._duets or self._strict


def _resolved(root: Path, ref: str | None) -> Revision | None:
    return None if ref is None else resolve(root, ref)


def _described(python: OtherPython | None) -> Elsewhere | None:
    return None if python is None else Elsewhere(python, describe(python.executable))


def _gates(benchmarks: Sequence[Benchmark]) -> int:
    """Return the number of verdicts that share the build's false-alarm budget."""
    timed = [b for b in benchmarks if b.timed]
    own = len(timed) + sum(b.memory * len(JUDGED) + (b.learning is not None) for b in benchmarks)
    starts = sum(len(b.spec.starts) for b in timed)
    exponents = len({b.family for b in timed if b.input_size is not None})
    return own + starts + exponents + efficiencies((b.nodeid, b.size) for b in timed)


def _measure_all(
    learning: LearningCampaign,
    memory: MemoryCampaign,
    campaign: Campaign,
    budget: Budget,
    spent_s: dict[str, float],
) -> None:
    """Train, scout, measure memory, then time, then what of memory and learning its share of the
    budget was too small for. A test that failed, was skipped or runs the same code in one is not
    run in the other.
    """
    sized = {nodeid: each.track for nodeid, each in memory.tracks.items()}

    def measure_memory(part: Budget) -> None:
        _hand_on_ends(campaign.tracks, sized)
        with _booked(spent_s, "memory", budget):
            memory.run(part)
        _hand_on_ends(sized, campaign.tracks)

    others = bool(campaign.tracks or memory.tracks)
    with _booked(spent_s, "learning", budget):
        learning.run(budget.part(LEARNING_SHARE * budget.seconds) if others else budget)
    part = budget.part(MEMORY_SHARE * budget.seconds) if campaign.tracks else budget
    campaign.run(after_scouts=lambda: measure_memory(part))
    measure_memory(budget)
    with _booked(spent_s, "learning", budget):
        learning.run(budget)


def _end_where_nothing_changed(stage: Stage, tracks: Sequence[Track]) -> None:
    if stage.same_code is not None and stage.same_code.certain:
        for track in tracks:
            track.ended = Ended.same_code(stage.same_code.changes)


def _hand_on_ends(over: Mapping[str, Track], others: Mapping[str, Track]) -> None:
    for nodeid in over.keys() & others.keys():
        track, other = over[nodeid], others[nodeid]
        other.failure, other.skipped = track.failure, track.skipped
        if track.is_same_code:
            other.ended = track.ended


@contextmanager
def _booked(spent_s: dict[str, float], part: str, budget: Budget) -> Iterator[None]:
    """Add what the block takes, also where it is interrupted."""
    begun_s = budget.elapsed_s()
    try:
        yield
    finally:
        spent_s[part] = spent_s.get(part, 0.0) + budget.elapsed_s() - begun_s


def _attached(
    benchmarks: Sequence[Benchmark],
    timed: Sequence[TestResult],
    memory: MemoryCampaign,
    learning: LearningCampaign,
) -> list[TestResult]:
    """Return the tests in their order, with what is known of time, memory and learning."""
    results = {test.nodeid: test for test in timed}
    for nodeid in memory.tracks:
        results[nodeid] = memory.attached(nodeid, results.get(nodeid))
    results |= {nodeid: learning.attached(nodeid) for nodeid in learning.tracks}
    return [results[b.nodeid] for b in benchmarks if b.nodeid in results]
