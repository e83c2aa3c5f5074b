"""A pytest session with `--rlperf-prove`: rounds instead of one run, rates as result."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.measuring import MeasuringSession
from pytest_rlperf.gate.partners import THRESHOLD_AGAINST, BaseRevision
from pytest_rlperf.gate.publishing import report_tests
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.gate.worker_args import Revisions, staged
from pytest_rlperf.machine.host import available_cores
from pytest_rlperf.metrics.times import time_metrics
from pytest_rlperf.model.block import Block
from pytest_rlperf.model.metric import MetricFamily, Outcome, Verdict
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.options import Settings
from pytest_rlperf.prove.rates import proof_file, read
from pytest_rlperf.prove.report import FALSE_ALARM, render_proof, render_proof_summary
from pytest_rlperf.prove.rounds import ProofRounds, Subject, kinds_of
from pytest_rlperf.report.terminal import ProgressLine, render_header
from pytest_rlperf.trees.cache import cache_folder
from pytest_rlperf.trees.git import working_state


class ProofSession(MeasuringSession):
    """The plugin object of a session that measures the gate itself."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        super().__init__(config, settings)
        self._file = proof_file(cache_folder(os.environ), config.rootpath)
        self._earlier = read(self._file)

    # -- running ------------------------------------------------------------------------------

    def _measure(self, session: pytest.Session) -> None:
        s, cores = self._settings, available_cores()
        line = ProgressLine(session.config.get_terminal_writer()._file)
        budget = Budget(s.budget_s, time.monotonic())
        every = [self._benchmark(item) for item in session.items]
        timed = [b for b in every if b.timed]  # what is proven is the gate of time
        benchmarks = self._without_ranks(timed)
        facts = self._facts(session.items, cores)
        partner = BaseRevision(s.threshold)
        state = working_state(self._config.rootpath, besides=s.baselines)
        subject = Subject(benchmarks, kinds_of(benchmarks, partner, facts), state, partner)
        with staged(session, s, Revisions(), cores, partner) as (stage, _):
            rounds = ProofRounds(
                subject,
                stage,
                file=self._file,
                earlier=self._earlier,
                budget=budget,
                round_s=s.usual_budget_s,
                show=line.show,
            )
            interrupted = True
            try:
                rounds.play()
                self._interrupts.keep()
                interrupted = False
            finally:  # Ctrl+C and SIGTERM too: what was measured is kept
                self._interrupts.keep()
                line.clear()
                tests = [unjudged(test) for test in rounds.results()]
                run = self._result("prove", tests, facts, budget.elapsed_s(), interrupted)
                self._run = replace(run, proof=rounds.proof())
                report_tests(session, self._run, strict=False)

    def _without_ranks(self, every: Sequence[Benchmark]) -> tuple[Benchmark, ...]:
        """Return the benchmarks without MPI tests: a rank that is made slower makes the others
        spin, and how long is not known beforehand, so the slowdown would not be the one that was
        asked for.
        """
        plain = tuple(b for b in every if b.size is None)
        if every and not plain:
            raise UsageError(
                "--rlperf-prove cannot slow MPI tests by a known amount, and no other is selected; "
                "select tests with the rlperf fixture."
            )
        if left_out := len(every) - len(plain):
            self._notices = (
                f"{left_out} MPI tests are left out: they cannot be slowed by a known amount.",
            )
        return plain

    # -- reporting ----------------------------------------------------------------------------

    def pytest_report_header(self) -> str:
        s = self._settings
        allowed = THRESHOLD_AGAINST if s.threshold is None else s.threshold
        proving = (
            f"proving the gate, allowed {format_percent(allowed)}, "
            f"a round of at most {s.usual_budget_s:.0f} s"
        )
        return f"rlperf: {render_header(proving, s.budget_s, available_cores())}"

    # The type is in quotes: pytest 8.2 does not have it.
    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        run = self._run
        if run is None or run.proof is None:
            return
        terminalreporter.ensure_newline()
        title = f"rlperf: {render_proof_summary(run.proof)} in {run.seconds:.0f} s"
        terminalreporter.section(title)
        for text in render_proof(run.proof):
            terminalreporter.write_line(text, red=text.startswith(FALSE_ALARM))
        for notice in (*self._notices, *self._published.notices):
            terminalreporter.write_line(f"rlperf: {notice}", yellow=True)
        if run.interrupted:
            notice = "rlperf: interrupted; the verdicts until then are kept."
            terminalreporter.write_line(notice, yellow=True, bold=True)


def unjudged(test: TestResult) -> TestResult:
    """Return a test that was compared with itself, as it is shown: its time is that of the side
    that nobody slowed, and it has no verdict.
    """
    if test.failure is not None or test.skipped is not None:
        return test
    blocks = tuple(
        Block(b.base, core=b.core, steal=b.steal) for b in test.blocks if b.base is not None
    )
    verdict = Verdict(Outcome.NO_BASELINE, "compared with itself, to prove the gate")
    others = (metric for metric in test.metrics if metric.family is not MetricFamily.TIME)
    metrics = (*time_metrics(verdict, blocks, test.steps), *others)
    return replace(test, metrics=metrics, blocks=blocks)
