"""What a run knows of one test: the benchmark, and all that came of it so far."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pytest_rlperf.model.block import Block, LogRatios, SideBlock, Spending
from pytest_rlperf.model.learning import LearningSpec
from pytest_rlperf.model.memory import Probe
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.profile import Explanation
from pytest_rlperf.model.result import Failure, JobSize
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.mpi.report import render_job, render_outputs
from pytest_rlperf.stats.decide import Decision
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.trees.code_changes import SameCode
from pytest_rlperf.wire import KernelSpeeds, Order
from pytest_rlperf.workers.planning import WAITS_SHARE, block_seconds
from pytest_rlperf.workers.side import SideRun, State

UNMEASURED = (
    "this test returned without calling rlperf, benchmark or another fixture that measures, so "
    "there is nothing to judge; call it in the test, or take the fixture and the marker away."
)
CAUGHT = (
    "the measured function raised and the test caught it, so there is nothing to judge; measure "
    "a call that returns."
)

MOST_OFF = 4
"""A plan is remembered as long as a call takes no more than so many times what it took, and no
less than that part of it."""

TOLD = 10
"""Differences of the code that are named with a test."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A selected test."""

    nodeid: str
    spec: Spec
    source_hash: str
    repeat_command: str
    size: JobSize | None = None  # of its jobs; None: it is no MPI test
    input_size: float | None = None  # None: its marker names no sizes
    family: str = ""  # its name without the size of its input
    timed: bool = True  # False: it is of its memory only
    memory: bool = False  # its memory is measured
    learning: LearningSpec | None = None  # None: nothing is learned

    @property
    def nprocs(self) -> int:
        return 0 if self.size is None else self.size.nprocs

    @property
    def timeout_s(self) -> float:
        return math.inf if self.size is None else self.size.timeout_s

    def order(
        self, deadline_s: float, plan: Plan | None = None, probe: Probe | None = None
    ) -> Order:
        """Return the order to run it: to scout it where it has neither a plan nor a probe."""
        return Order(self.nodeid, deadline_s, plan, probe, self.spec.threads, self.nprocs)


@dataclass(frozen=True, slots=True)
class ScoutRecord:
    """What the scout of head saw of a test, as later runs remember it."""

    seen: Scouted
    seconds: float  # fixtures and calls
    speeds: KernelSpeeds | None = None  # of the reference kernels; None: they did not play
    day: int = 0  # when it was used last, in days since the epoch

    def bears_out(self, block: SideBlock) -> bool:
        """Return whether a block is that of the test which was scouted: its calls take about as
        long, and do not wait where they computed.
        """
        if not 1 / MOST_OFF <= block.call_ns / max(self.seen.call_ns, 1.0) <= MOST_OFF:
            return False
        if self.seen.hosted or self.seen.processes > 1:  # others compute for it
            return True
        waits = sum(block.cpu_ns) < WAITS_SHARE * sum(block.own_ns)
        return waits == (self.seen.cpu_share < WAITS_SHARE)


@dataclass(slots=True)
class Track:
    """One test in a campaign, which fills this block by block."""

    benchmark: Benchmark
    least_blocks: int = 0  # wanted even if it is decided sooner
    plan: Plan | None = None
    seen: Scouted | None = None
    scouted_ns: tuple[float, ...] = ()  # a call, by side
    scouted_s: float = 0.0  # fixtures and calls of the scout
    scout: ScoutRecord | None = None  # this run's, or an earlier one's
    recalled: bool = False  # its plan rests on an earlier scout, which no block has borne out yet
    begun: bool = False  # it shall have blocks
    spent_s: float = 0.0  # in blocks
    cost: Spending = field(default_factory=Spending)  # scouting and profiling included
    planned_s: float = 0.0  # what they should have taken
    steps: int | None = None
    first_call_ns: float | None = None  # head's
    blocks: list[Block] = field(default_factory=list)
    block_ratios: list[Mapping[str, LogRatios]] = field(default_factory=list)  # by partner
    ratios: list[LogRatios] = field(default_factory=list)  # that it was judged by last
    decision: Decision | None = None
    held: bool = False  # more blocks are wanted for what is judged beside its time
    differences: tuple[str, ...] = ()  # between the code of both sides, that it may have met
    ended: Ended | None = None  # why it left the campaign without a decision
    other_work: Ended | None = None  # not comparable; still measured where it is to be saved
    failure: Failure | None = None
    skipped: str | None = None
    imported: dict[str, Mapping[str, str]] = field(default_factory=dict)
    explanation: Explanation | None = None  # None: nobody asked why

    @property
    def pace(self) -> float:
        """Return how much longer than planned its blocks take; 1 as long as it has none."""
        return self.spent_s / self.planned_s if self.planned_s else 1.0

    def runs_same_code(self, same_code: SameCode | None, runs: Sequence[SideRun]) -> bool:
        """Note the differences that the test met, and end it where there are none; return whether
        that is so.
        """
        if same_code is None or not same_code.speaks_of(self.benchmark.nodeid):
            return False
        differences = same_code.differences(run.ran for run in runs)
        self.differences = tuple(islice(dict.fromkeys(differences), TOLD))
        # A start is that of everything a process imports.
        alone = same_code.changes.none or not self.benchmark.spec.starts
        if not self.differences and alone:
            self.ended = Ended.same_code(same_code.changes)
        return self.is_same_code

    @property
    def is_same_code(self) -> bool:
        """Return whether it left because it runs the same code on both sides."""
        return self.ended is not None and self.ended.outcome is Outcome.SAME_CODE

    @property
    def open(self) -> bool:
        if self.ended or self.failure or self.skipped is not None:
            return False
        undecided = self.decision is None or self.decision.outcome is None
        wanted = undecided and self.other_work is None
        return wanted or self.held or len(self.blocks) < self.least_blocks

    @property
    def cut_off(self) -> bool:
        """Return whether it is undecided because there was no time for more blocks."""
        if self.decision is None or not self.decision.out_of_time:
            return False
        return self.decision.outcome is Outcome.INCONCLUSIVE

    @property
    def judged(self) -> tuple[float, ...]:
        """Return the ratio of each block that the decision rests on."""
        sums = self.decision is not None and self.decision.by_sums
        return tuple(ratios.total if sums else ratios.typical for ratios in self.ratios)

    def expected_s(self, plan: Plan) -> float:
        """Return what a block of this plan should take; fixtures are made anew in it."""
        assert self.seen is not None
        return self.scouted_s + block_seconds(plan, self.seen)

    def usual_s(self, plan: Plan) -> float:
        """Return the same without room for trouble: the scout's time holds a first call already."""
        assert self.seen is not None
        return self.expected_s(plan) - self.seen.first_ns / 1e9

    def note_imported(self, runs: Sequence[SideRun]) -> None:
        for name, run in zip(("head", "base"), runs, strict=False):
            self.imported[name] = run.imported

    def forget_scout(self) -> None:
        """Let the test wait for a scout: the one that was remembered saw another test."""
        self.plan = self.seen = self.scout = None
        self.recalled = self.begun = False
        self.spent_s = self.planned_s = 0.0

    def both_ran(self, runs: Sequence[SideRun]) -> bool:
        """Note what ended before it was measured, head's trouble as the test's failure; return
        whether the test goes on.
        """
        head = runs[0]
        base = runs[1] if len(runs) > 1 else None
        wrong = [run for run in runs if run.state is State.WRONG_COPY]
        if base is not None and base.state is not State.RAN:
            self.ended = Ended.base_did_not_run(base.state, _without_last_words(base))
        if wrong:
            self.failure = Failure(wrong[0].text)
        elif head.state is State.SKIPPED:
            self.skipped = head.text
        elif head.state is State.UNMEASURED:
            self.failure = Failure(UNMEASURED)
        elif head.state not in (State.RAN, State.ABANDONED):
            self.failure = self._failure(head)
        elif self.open and any(run.report is None for run in runs):
            self.failure = Failure(CAUGHT)
        return self.open

    def _failure(self, head: SideRun) -> Failure:
        if head.job is None:
            return Failure(head.text, head.sections)
        text = render_job(head.job, self.benchmark.repeat_command)
        return Failure(text, tuple(render_outputs(head.job)))


def _without_last_words(run: SideRun) -> str:
    """Return what is worth telling of a base that could not run. Of a process that ended or hangs
    the first line says how; its last words tell more only where pytest itself gave up, at a
    conftest that does not load, and shows the error.
    """
    lost = run.state in (State.CRASHED, State.HUNG) and "\nE  " not in run.text
    return run.text.partition("\n")[0] if lost else run.text
