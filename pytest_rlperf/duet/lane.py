"""How a block of two commands is played: both at once on one core, or in turns by the clock."""

import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.duet.model import DuetSettings
from pytest_rlperf.duet.runner import ENOUGH, FILL, PREPARE, RUN, RunUse, Turn
from pytest_rlperf.duet.starting import CommandRunner
from pytest_rlperf.worker import disturbance
from pytest_rlperf.workers.lanes import Waiting
from pytest_rlperf.workers.process import Process


class OutOfTime(Exception):
    """A run was still going on at its deadline."""


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """How a block is played, the same on both sides."""

    pairs: int
    fills: bool  # the side that is done first goes on, so that the other is never alone


Runs = tuple[list[RunUse], ...]
"""The runs of each side, in their order."""


class CommandLane:
    """The runners of all commands on one core, and what makes that core change between two of
    them; no core: on all of them.
    """

    def __init__(
        self,
        settings: DuetSettings,
        core: int | None,
        folder: Path,
        environment: Mapping[str, str],
        rng: random.Random,
    ) -> None:
        self.core = core
        self._settings, self._rng = settings, rng
        self._seeded = "PYTHONHASHSEED" not in environment
        self._runners: list[CommandRunner] = []
        self._metronome: Process | None = None
        self._folder = folder
        try:
            for number, command in enumerate(settings.commands.each):
                name = f"{'all' if core is None else core}-{number}"
                self._runners.append(CommandRunner(command, settings, folder, name, environment))
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End all that was started here."""
        for one in self._runners:
            one.leave()
        for one in self._runners:
            one.end()
        if self._metronome is not None:
            self._metronome.end()

    def floor_bytes(self, command: int) -> int:
        """Return what the kernel counts as the peak of a run at least."""
        return self._runners[command].own_bytes

    def alone(self, command: int, cores: Sequence[int], until: float) -> Waiting[RunUse]:
        """Run a command once with the machine to itself."""
        side = self._runners[command]
        turn = Turn(RUN, 1, list(cores), self._environment())
        ((use,),) = yield from self._in_order([side], turn, until)
        return use

    def block(self, pair: tuple[int, int], plan: BlockPlan, until: float) -> Waiting[Runs]:
        """Play the pairs of two commands; return the runs of each."""
        sides = [self._runners[number] for number in pair]
        cores = [] if self.core is None else [self.core]
        if self._settings.waits:
            return (yield from self._by_turns(sides, plan, until))
        self._beat()
        if self._settings.prepare is None:
            turn = Turn(RUN, plan.pairs, cores, self._environment())
            return (yield from self._at_once(sides, turn, plan.fills, until))
        both: Runs = ([], [])
        environment = self._environment()
        for _ in range(plan.pairs):
            yield from self._prepared(sides, cores, environment, until)
            turn = Turn(RUN, 1, cores, environment)
            runs = yield from self._at_once(sides, turn, False, until)
            for so_far, run in zip(both, runs, strict=True):
                so_far += run
        return both

    def _by_turns(
        self, sides: Sequence[CommandRunner], plan: BlockPlan, until: float
    ) -> Waiting[Runs]:
        both: Runs = ([], [])
        environment = self._environment()
        for _ in range(plan.pairs):
            for number in self._rng.sample(range(2), 2):
                turn = Turn(RUN, 1, (), environment)
                ((use,),) = yield from self._in_order([sides[number]], turn, until)
                both[number].append(use)
        return both

    def _in_order(self, sides: Sequence[CommandRunner], turn: Turn, until: float) -> Waiting[Runs]:
        if self._settings.prepare is not None:
            yield from self._prepared(sides, turn.cores, turn.environment, until)
        return (yield from self._at_once(sides, turn, False, until))

    def _prepared(
        self,
        sides: Sequence[CommandRunner],
        cores: Sequence[int],
        environment: Mapping[str, str] | None,
        until: float,
    ) -> Waiting[None]:
        """Prepare one side after the other: what prepares them may be in its own way."""
        for side in sides:
            turn = Turn(PREPARE, 1, cores, environment)
            yield from self._at_once([side], turn, False, until)

    def _at_once(
        self, sides: Sequence[CommandRunner], turn: Turn, fills: bool, until: float
    ) -> Waiting[Runs]:
        """Let the sides do the same at once, in random order of beginning."""
        runs: Runs = tuple([] for _ in sides)
        for side in self._rng.sample(list(sides), len(sides)):
            side.tell(turn)
        filling: CommandRunner | None = None
        while not all(len(each) == turn.runs for each in runs):
            yield self._awaited(sides, until)
            for side, each in zip(sides, runs, strict=True):
                for use in side.heard() if len(each) < turn.runs else ():
                    each.append(use)
                    self._check(side, use, turn)
                if fills and filling is None and len(each) == turn.runs:
                    filling = side
                    side.tell(Turn(FILL, 0, turn.cores, turn.environment))
        if filling is not None:
            filling.tell(Turn(ENOUGH))
            while not any(filling.heard()):
                yield self._awaited([filling], until)
        return runs

    def _check(self, side: CommandRunner, use: RunUse, turn: Turn) -> None:
        prepare = self._settings.prepare
        if turn.what == PREPARE and prepare is not None:
            side.check(use, prepare.text, ignore=False)
        else:
            side.check(use, side.command.text, self._settings.ignore_failure)

    def _awaited(self, sides: Sequence[CommandRunner], until: float) -> list[int]:
        if time.monotonic() > until:
            raise OutOfTime
        return [side.fileno() for side in sides]

    def _environment(self) -> dict[str, str]:
        """Return what is the same for both sides of a block, and another in the next."""
        return {"PYTHONHASHSEED": str(self._rng.randrange(1, 2**32))} if self._seeded else {}

    def _beat(self) -> None:
        """Start what makes the core change often between the sides (see `worker.disturbance`)."""
        if self._metronome is None and self.core is not None:
            self._metronome = Process(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    disturbance.__file__,
                    disturbance.METRONOME,
                    str(os.getpid()),
                ],
                env=os.environ,
                cwd=str(self._folder),
                cores=(self.core,),
                fds=(),
                log=self._folder / "metronome.log",
            )
