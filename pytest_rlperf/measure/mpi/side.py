"""The controller's view of one side whose worker is an MPI job."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress

from pytest_rlperf.launch.channel import ChannelClosed, Message
from pytest_rlperf.launch.mpi.cause import cause_of
from pytest_rlperf.launch.mpi.job import MpiJob
from pytest_rlperf.launch.mpi.rank_files import RankFiles
from pytest_rlperf.measure.mpi.channels import RankChannels
from pytest_rlperf.measure.mpi.merge import merged_facts
from pytest_rlperf.measure.side import SideRun, State, WorkerSide
from pytest_rlperf.model.ranks import JobEnd, Phase, RankEnd, RankOutcome

LAST_WORDS_S = 1.0
"""From the first rank that leaves a test to all others doing so: those that wait for it never
will."""
STACKS_S = 0.5
END_S = 5.0


class RankOutput:
    """What one rank prints; its process is the job's affair."""

    def __init__(self, files: RankFiles, job: MpiJob) -> None:
        self._files = files
        self._job = job

    @property
    def pid(self) -> int:
        return self._job.pid

    @property
    def ended(self) -> bool:
        return self._job.ended

    def mark_output(self) -> None: ...

    def output_tail(self) -> str:
        return self._files.output()

    def how_it_ended(self) -> str:
        return self._job.process.how_it_ended()

    def dump_stacks(self) -> None: ...

    def end(self, grace_s: float = 0.0) -> None:
        self._job.end(grace_s)


class RankedSide:
    """All ranks of a job as one side of a duet: it is where the last of them is."""

    def __init__(self, name: str, job: MpiJob, channels: RankChannels) -> None:
        self.name = name
        self.process = job
        self.channel = channels
        self.broken: SideRun | None = None
        self.told = False
        self._ranks = [WorkerSide(name, RankOutput(f, job), channels) for f in job.files()]
        self._run: SideRun | None = None
        self._leaving_since: float | None = None

    @property
    def collected(self) -> set[str] | None:
        sets = [rank.collected for rank in self._ranks if rank.collected is not None]
        return set.intersection(*sets) if len(sets) == len(self._ranks) else None

    @property
    def collect_errors(self) -> dict[str, str]:
        return {n: text for rank in self._ranks for n, text in rank.collect_errors.items()}

    @property
    def startup_s(self) -> float:
        return max(rank.startup_s for rank in self._ranks)

    @property
    def ready(self) -> bool:
        return all(rank.ready for rank in self._ranks)

    @property
    def run(self) -> SideRun | None:
        if self._run is None:
            self._run = self._decided()
        return self._run

    @run.setter
    def run(self, run: SideRun) -> None:
        self._run = run

    def clear(self) -> None:
        self._run = self._leaving_since = None
        self.told = False
        for rank in self._ranks:
            rank.clear()

    def take(self, message: Message) -> None:
        self._ranks[message["rank"]].take(message)

    def tell(self, message: Message) -> None:
        try:
            self.channel.send(message)
        except ChannelClosed:
            self.crash()

    def crash(self) -> None:
        self.process.process.wait(END_S)
        self._break(State.CRASHED, self.process.finish())

    def hang(self, seconds: float) -> None:
        for pid in self.channel.pids.values():
            with suppress(OSError):
                os.kill(pid, signal.SIGUSR1)
        time.sleep(STACKS_S)
        self._break(State.HUNG, self.process.finish(seconds))

    def _break(self, state: State, end: JobEnd) -> None:
        text = f"the {self.name} job ended: {cause_of(end)}"
        self._run = self.broken = SideRun(state, text, job=end)

    def _decided(self) -> SideRun | None:
        runs = [rank.run for rank in self._ranks]
        ended = [run for run in runs if run is not None]
        if len(ended) == len(runs):
            return self._merged(ended)
        if all(run.state is State.RAN for run in ended):
            return None
        now = time.monotonic()
        self._leaving_since = self._leaving_since or now
        if now < self._leaving_since + LAST_WORDS_S:
            return None
        self.broken = self._merged(runs)
        return self.broken

    def _merged(self, runs: Sequence[SideRun | None]) -> SideRun:
        """The worst that a rank has to say; None: it still runs, waiting for the others."""
        said = [run for run in runs if run is not None]
        states = {run.state for run in said}
        wrong = [run for run in said if run.state is State.WRONG_COPY]
        if wrong:
            return wrong[0]
        if State.FAILED in states or (State.SKIPPED in states and len(states) > 1):
            end = self._ended(runs)
            return SideRun(State.FAILED, cause_of(end), job=end)
        for state in (State.ABANDONED, State.UNMEASURED, State.SKIPPED):
            if state in states:
                return next(run for run in said if run.state is state)
        facts = [run.facts for run in said if run.facts is not None]
        merged = merged_facts(facts) if len(facts) == len(self._ranks) else None
        return SideRun(State.RAN, "", merged, said[0].imported)

    def _ended(self, runs: Sequence[SideRun | None]) -> JobEnd:
        ranks = []
        for files, run in zip(self.process.files(), runs, strict=True):
            outcome = RankOutcome.STOPPED if run is None else OUTCOMES[run.state]
            text = "" if run is None else run.text
            phase = Phase(files.phase() or Phase.CALL)
            ranks.append(RankEnd(files.rank, outcome, phase, text=text, output=files.output()))
        return JobEnd(tuple(ranks), self.process.command, 0.0)


OUTCOMES = {
    State.RAN: RankOutcome.PASSED,
    State.FAILED: RankOutcome.FAILED,
    State.SKIPPED: RankOutcome.SKIPPED,
    State.UNMEASURED: RankOutcome.PASSED,
    State.ABANDONED: RankOutcome.STOPPED,
}
