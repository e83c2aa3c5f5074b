"""A whole duet of commands: each run alone first, then blocks of pairs until all is decided.

A block is a small group of pairs on one core, and an independent observation: every run is a fresh
process, and cores change from block to block. Rounds of one block on each core are played at once.
The decision is the gate's own (`stats.decide`), with one false-alarm budget for all commands.
"""

import math
import os
import random
import secrets
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pytest_rlperf.duet.lane import BlockPlan, CommandLane, OutOfTime, Runs
from pytest_rlperf.duet.model import (
    AloneRun,
    CommandResult,
    CommandVerdict,
    DuetResult,
    DuetSettings,
)
from pytest_rlperf.duet.runner import RunUse
from pytest_rlperf.errors import UsageError
from pytest_rlperf.leaving import temporary_folder
from pytest_rlperf.machine.host import available_cores, physical_cores
from pytest_rlperf.memory.probe import Children
from pytest_rlperf.model.block import LogRatios
from pytest_rlperf.stats.decide import Decision, Gate, decide
from pytest_rlperf.stats.estimate import paired
from pytest_rlperf.stats.verdicts import verdict_of
from pytest_rlperf.workers.lanes import LANES_MAX, Lane, in_turns, waited_for
from pytest_rlperf.workers.process import RUN, end_marked

ALONE_RUNS = 3
ALONE_S = 1.0
"""A command that takes longer is run alone once."""
WATCHED_NS = 20e6
"""The memory of a run that is shorter was hardly looked at (`memory.watcher`)."""
BLOCK_S = 0.5
"""The time of the pairs of a block. Runs are fresh processes, so what makes a block longer than its
longest run only saves us the work between blocks."""
MOST_PAIRS = 40
FILLS_ABOVE = 0.03
"""Sides that differ by more than this share are not left alone in the end: what lives in the caches
is far quicker there (`docs/measuring.md`, Abreast)."""
PATIENCE = 2.0
"""A block that takes so many times what was expected, after the budget is over, is given up."""
CURE = "raise --budget"

Say = Callable[[str], None]


@dataclass
class CommandTally:
    """What is known of a command so far."""

    text: str
    alone: list[AloneRun] = field(default_factory=list)
    runs: list[RunUse] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    left: int = 0

    def note(self, use: RunUse) -> None:
        self.left += use.left
        if use.status:
            self.statuses[use.status] += 1

    @property
    def wall_s(self) -> float:
        return statistics.median(run.wall_ns for run in self.alone) / 1e9

    @property
    def cpu_s(self) -> float:
        return statistics.median(run.cpu_ns for run in self.alone) / 1e9


@dataclass
class Contest:
    """One command against the first, as far as it was played."""

    command: int
    blocks: list[LogRatios] = field(default_factory=list)
    pairs: int = 0
    seconds: float | None = None  # that its last block took
    decision: Decision | None = None

    @property
    def is_open(self) -> bool:
        return self.decision is None or self.decision.outcome is None


@dataclass(frozen=True, slots=True)
class PlayedPairs:
    """A block that is over."""

    contest: Contest
    runs: Runs
    seconds: float


class DuetCampaign:
    """Runs the commands and decides."""

    def __init__(self, settings: DuetSettings, say: Say) -> None:
        self._settings, self._say = settings, say
        self._tallies = [CommandTally(each.text) for each in settings.commands.each]
        self._contests = [Contest(number) for number in range(1, len(self._tallies))]
        self._gate = Gate(settings.threshold, len(self._contests))
        self._rng = random.Random()
        self._cores = available_cores()
        self._begun = time.monotonic()
        self._until = self._begun + settings.budget_s

    def run(self) -> DuetResult:
        """Play until all is decided, the budget is over or somebody interrupts."""
        interrupted, token = False, secrets.token_hex(8)
        with ExitStack() as stack:
            folder = stack.enter_context(temporary_folder("duet"))
            # Only what has left its tree is still there by then.
            stack.callback(end_marked, token)
            start = partial(self._lane, stack, folder, {**os.environ, RUN: token})
            try:
                lanes = self._lanes(start)
                self._look_alone(lanes[0])
                self._play(lanes)
            except KeyboardInterrupt:
                interrupted = True
                if not all(tally.alone for tally in self._tallies):
                    raise
        return self._result(interrupted)

    # -- cores ----------------------------------------------------------------------------------

    @property
    def cores(self) -> list[int]:
        """Return the cores that are played on; none: they are not chosen."""
        return [core for core in self._played_on if core is not None]

    @property
    def _played_on(self) -> Sequence[int | None]:
        """Return the cores of the lanes: one of each physical core, or a lane without any."""
        if self._settings.waits or not self._cores:
            return [None]
        return [threads[0] for threads in physical_cores(self._cores)][:LANES_MAX]

    def _lanes(self, start: Callable[[int | None], CommandLane]) -> list[CommandLane]:
        return [start(core) for core in self._played_on]

    def _lane(
        self, stack: ExitStack, folder: Path, environment: Mapping[str, str], core: int | None
    ) -> CommandLane:
        lane = CommandLane(self._settings, core, folder, environment, self._rng)
        stack.callback(lane.end)
        return lane

    # -- each command alone -----------------------------------------------------------------------

    def _look_alone(self, lane: CommandLane) -> None:
        """Warm up, then see of each command what it takes with the machine to itself."""
        for number in range(len(self._tallies)):
            for _ in range(self._settings.warmup):
                self._say(f"warming up: {number + 1} of {len(self._tallies)} commands")
                self._alone(lane, number)
        with Children() as children:
            for _ in range(ALONE_RUNS):
                for number, tally in enumerate(self._tallies):
                    if sum(run.wall_ns for run in tally.alone) < 1e9 * ALONE_S:
                        self._say(f"each alone: {number + 1} of {len(self._tallies)} commands")
                        before = children.begin()
                        use = self._alone(lane, number)
                        watched = sum(size for _, size in children.peaks(before))
                        tally.alone.append(as_alone(use, watched, lane.floor_bytes(number)))
                        tally.note(use)

    def _alone(self, lane: CommandLane, number: int) -> RunUse:
        try:
            return waited_for(lane.alone(number, self._cores, self._until))
        except OutOfTime:
            raise UsageError(
                f"{self._tallies[number].text!r} was not done when the budget of "
                f"{self._settings.budget_s:g} s was over; {CURE}."
            ) from None

    # -- blocks -----------------------------------------------------------------------------------

    def _play(self, lanes: Sequence[CommandLane]) -> None:
        while entered := self._next_round(len(lanes)):
            until = self._until + PATIENCE * max(map(self._expected_s, entered))
            playing = [
                self._block(lane, contest, until)
                for lane, contest in zip(lanes, entered, strict=False)
            ]
            try:
                played = list(in_turns(playing))
            except OutOfTime:
                return
            for block in played:
                self._note(block)
            for contest in entered:
                contest.decision = decide(contest.blocks, self._gate)
            self._tell()

    def _next_round(self, lanes: int) -> list[Contest]:
        """Return who plays on the lanes next: those with the fewest blocks first, each as often as
        there is room; empty: nobody, or there is no time.
        """
        left_s = self._until - time.monotonic()
        fitting = [c for c in self._contests if c.is_open and self._expected_s(c) <= left_s]
        fitting.sort(key=lambda contest: len(contest.blocks))
        return [fitting[number % len(fitting)] for number in range(lanes)] if fitting else []

    def _block(self, lane: CommandLane, contest: Contest, until: float) -> Lane[PlayedPairs]:
        begun = time.monotonic()
        runs = yield from lane.block((0, contest.command), self._plan(contest), until)
        yield PlayedPairs(contest, runs, time.monotonic() - begun)

    def _plan(self, contest: Contest) -> BlockPlan:
        both = self._tallies[0], self._tallies[contest.command]
        seconds = sum(each.wall_s if self._settings.waits else each.cpu_s for each in both)
        pairs = max(1, min(MOST_PAIRS, round(BLOCK_S / max(seconds, 1e-4))))
        return BlockPlan(pairs, fills=abs(self._difference(contest)) > FILLS_ABOVE)

    def _difference(self, contest: Contest) -> float:
        """Return the log-ratio of the sides, as far as it is known."""
        if contest.blocks:
            return statistics.median(block.total for block in contest.blocks)
        first, other = (self._tallies[n].cpu_s for n in (0, contest.command))
        return math.log(max(other, 1e-9) / max(first, 1e-9))

    def _expected_s(self, contest: Contest) -> float:
        if contest.seconds is not None:
            return contest.seconds
        both = self._tallies[0], self._tallies[contest.command]
        pairs = self._plan(contest).pairs
        walls = [each.wall_s for each in both]
        if self._settings.waits:
            return pairs * sum(walls)
        return pairs * max(*walls, 2 * max(each.cpu_s for each in both))

    def _note(self, played: PlayedPairs) -> None:
        contest = played.contest
        for number, runs in zip((0, contest.command), played.runs, strict=True):
            self._tallies[number].runs += runs
            for use in runs:
                self._tallies[number].note(use)
        first, other = ([max(1, self._time(use)) for use in runs] for runs in played.runs)
        contest.blocks.append(paired(other, first))
        contest.pairs += len(first)
        contest.seconds = played.seconds

    def _time(self, use: RunUse) -> int:
        return use.wall_ns if self._settings.waits else use.cpu_ns

    def _tell(self) -> None:
        decided = sum(not contest.is_open for contest in self._contests)
        pairs = sum(contest.pairs for contest in self._contests)
        spent = time.monotonic() - self._begun
        self._say(
            f"{decided} of {len(self._contests)} decided · {pairs} pairs · "
            f"{spent:.0f} s of {self._settings.budget_s:.0f} s"
        )

    # -- the end ----------------------------------------------------------------------------------

    def _result(self, interrupted: bool) -> DuetResult:
        return DuetResult(
            settings=self._settings,
            commands=tuple(map(self._command_result, self._tallies)),
            verdicts=tuple(self._verdict(contest, interrupted) for contest in self._contests),
            cores=self.cores,
            seconds=time.monotonic() - self._begun,
            interrupted=interrupted,
        )

    def _command_result(self, tally: CommandTally) -> CommandResult:
        return CommandResult(
            text=tally.text,
            alone=tuple(tally.alone),
            times_ns=tuple(self._time(use) for use in tally.runs),
            system_ns=tuple(use.system_ns for use in tally.runs),
            statuses=dict(tally.statuses),
            left=tally.left,
        )

    def _verdict(self, contest: Contest, interrupted: bool) -> CommandVerdict:
        decision = contest.decision
        if contest.is_open:
            decision = decide(contest.blocks, self._gate, exhausted=True)
        verdict = verdict_of(
            decision,
            None,
            self._settings.threshold,
            failed=False,
            skipped=False,
            interrupted=interrupted,
            cure=CURE,
        )
        by_sums = decision is not None and decision.by_sums
        changes = (math.expm1(each.total if by_sums else each.typical) for each in contest.blocks)
        return CommandVerdict(contest.command, verdict, contest.pairs, tuple(changes))


def as_alone(use: RunUse, watched: int, own: int) -> AloneRun:
    """Return a run alone, with the memory that was seen of all its processes together. Of one that
    was too short to be watched only the kernel's mark is left, no less than its parent's own.
    """
    if use.peak_bytes > own:
        return AloneRun(use.wall_ns, use.cpu_ns, max(watched, use.peak_bytes))
    if use.wall_ns >= WATCHED_NS and watched:
        return AloneRun(use.wall_ns, use.cpu_ns, watched)
    return AloneRun(use.wall_ns, use.cpu_ns, max(watched, use.peak_bytes), measured=False)
