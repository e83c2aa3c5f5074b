"""An MPI job as one side of a duet: starts it, hears its ranks, and merges what they report."""

import json
import math
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pytest_rlperf.model.block import RankFacts, SideBlock
from pytest_rlperf.model.code import Ran
from pytest_rlperf.model.memory import ProcessPeak
from pytest_rlperf.mpi import boot
from pytest_rlperf.mpi.channels import RankChannels
from pytest_rlperf.mpi.job import JobOrder, MpiJob
from pytest_rlperf.mpi.launcher import Launcher
from pytest_rlperf.mpi.rank_files import (
    JobEnd,
    RankEnd,
    RankFiles,
    RankOutcome,
    RankPhase,
    cause_of,
)
from pytest_rlperf.wire import (
    SIDES,
    ChannelClosed,
    FromController,
    Job,
    KernelSpeeds,
    Measurement,
    MemoryReport,
    RankOrder,
    RankShare,
    Report,
    ScoutReport,
    plain,
)
from pytest_rlperf.workers.side import Account, SideRun, State

Kind = TypeVar("Kind")
Time = TypeVar("Time", int, float)

TOGETHER = 0.99
"""A rank that took this share of the last one's wall time ended together with it."""


# -- the reports of all ranks, merged into one of the job ----------------------------------------


def merged(reports: Sequence[Report]) -> Report:
    """Return the reports of all ranks of a job, which are of one kind, as one of the job."""
    first = reports[0]
    if isinstance(first, Measurement):
        return _merged_measurement(_of_kind(reports, Measurement))
    if isinstance(first, ScoutReport):  # they agree but for their counts
        scouts = _of_kind(reports, ScoutReport)
        return replace(first, work=summed_work([scout.work for scout in scouts]))
    if isinstance(first, KernelSpeeds):
        speeds = [report.unit_ns for report in _of_kind(reports, KernelSpeeds)]
        return KernelSpeeds(
            {name: max(unit_ns[name] for unit_ns in speeds) for name in first.unit_ns}
        )
    return _merged_memory(_of_kind(reports, MemoryReport))


def _of_kind(reports: Sequence[Report], kind: type[Kind]) -> list[Kind]:
    return [report for report in reports if isinstance(report, kind)]


def _merged_measurement(ranks: Sequence[Measurement]) -> Measurement:
    blocks, shares = [rank.block for rank in ranks], [rank.rank for rank in ranks if rank.rank]
    phases = summed_work([block.phases for block in blocks])
    facts = RankFacts(
        own_ns=tuple(math.fsum(block.own_ns) for block in blocks),
        communication=tuple(share.communication for share in shares),
        peak_bytes=tuple(share.peak_bytes for share in shares),
    )
    job = replace(
        blocks[0],
        own_ns=tuple(_job_times(blocks, shares)),
        wall_ns=tuple(slowest([block.wall_ns for block in blocks])),
        cpu_ns=tuple(map(sum, zip(*(block.cpu_ns for block in blocks), strict=True))),
        work=summed_work([block.work for block in blocks]),
        preempted=sum(block.preempted for block in blocks),
        phases={name: share / len(ranks) for name, share in phases.items()},
        ranks=facts if shares else None,
    )
    names = ranks[0].kernel_ns
    kernel_ns = {name: tuple(slowest([rank.kernel_ns[name] for rank in ranks])) for name in names}
    return replace(ranks[0], block=job, kernel_ns=kernel_ns, rank=None)


def _merged_memory(ranks: Sequence[MemoryReport]) -> MemoryReport:
    """Return the sizes of all ranks together, and each process and segment under its rank."""
    evidence = [rank.evidence for rank in ranks]
    return replace(
        ranks[0],
        values=summed_work([rank.values for rank in ranks]),
        evidence=replace(
            evidence[0],
            processes=_by_rank([e.processes for e in evidence]),
            segments=_by_rank([e.segments for e in evidence]),
            exact=all(e.exact for e in evidence),
        ),
        call_s=max(rank.call_s for rank in ranks),
    )


def _by_rank(ranks: Sequence[Sequence[ProcessPeak]]) -> tuple[ProcessPeak, ...]:
    """Return the peaks of all ranks, each named after its rank."""
    return tuple(
        replace(peak, name=f"rank {number}: {peak.name}")
        for number, peaks in enumerate(ranks)
        for peak in peaks
    )


def _job_times(blocks: Sequence[SideBlock], shares: Sequence[RankShare]) -> list[int]:
    """Return the time of each slice of the job; exchanges are noted where both jobs run at once."""
    exchanges = [share.exchange_ns for share in shares if share.exchange_ns]
    second_ns = exchanges or [block.wall_ns for block in blocks]
    job_time = time_of_turns if exchanges else time_of_slice
    ranks = [
        list(zip(block.own_ns, second, strict=True))
        for block, second in zip(blocks, second_ns, strict=True)
    ]
    return [job_time(slices) for slices in zip(*ranks, strict=True)]


def time_of_slice(ranks: Sequence[tuple[int, int]]) -> int:
    """Return what a slice would have taken undisturbed, given each rank's own time and wall time.

    Who waits for another rank spins inside of MPI and looks busy, so that whatever disturbs one
    of them is in the own time of all others. Of ranks that end together, the one with the least
    own time had the least to wait. One that ends before the last one did not wait for it.
    """
    last_own, last_wall = max(ranks, key=lambda rank: rank[1])
    disturbed = last_wall - last_own
    return min(own for own, wall in ranks if wall >= TOGETHER * last_wall - disturbed)


def time_of_turns(ranks: Sequence[tuple[int, int]]) -> int:
    """Return the same where both jobs run at once, given each rank's own time and the part of it
    inside of MPI: there the rank that computes longest has nobody to wait for.
    """
    computing = max(own - exchange for own, exchange in ranks)
    return max(1, computing + min(exchange for _, exchange in ranks))


def slowest(ranks: Sequence[Sequence[Time]]) -> list[Time]:
    """Return the longest time of each slice."""
    return [max(times) for times in zip(*ranks, strict=True)]


def summed_work(counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the sum of the counts of all ranks."""
    names = dict.fromkeys(name for rank in counts for name in rank)
    return {name: math.fsum(rank.get(name, 0.0) for rank in counts) for name in names}


# -- the controller's view of the job -------------------------------------------------------------

LAST_WORDS_S = 1.0
"""Ranks have this time to leave a test after the first one has: those that wait for it never
will."""
STACKS_S = 0.5
END_S = 5.0


class RankOutput:
    """What one rank prints: a job runs one test, so there is nothing to mark."""

    def __init__(self, files: RankFiles) -> None:
        self._files = files

    def mark_output(self) -> None: ...

    def output_tail(self) -> str:
        return self._files.output()


class RankedSide:
    """All ranks of a job as one side of a duet, which is ready when the last of them is."""

    def __init__(self, name: str, job: MpiJob, channels: RankChannels) -> None:
        self.name = name
        self.process = job
        self.channel = channels
        self.broken: SideRun | None = None
        self.answered = False
        self._ranks = [Account(RankOutput(files)) for files in job.files()]
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
            self._run = self._run_so_far()
        return self._run

    @run.setter
    def run(self, run: SideRun) -> None:
        self._run = run

    def clear(self) -> None:
        self._run = self._leaving_since = None
        self.answered = False
        for rank in self._ranks:
            rank.clear()

    def listen(self) -> None:
        for rank, message in self.channel.feed():
            self._ranks[rank].take(message)

    def tell(self, message: FromController) -> None:
        try:
            self.channel.send(message)
        except ChannelClosed:
            self.crash()

    def crash(self) -> None:
        self.process.await_end(END_S)
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

    def _run_so_far(self) -> SideRun | None:
        """Return how the test ended; None: ranks still run it, and have time left for that."""
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
        """Return the worst of what the ranks report; a run of None still waits for the others."""
        ended = [run for run in runs if run is not None]
        states = {run.state for run in ended}
        wrong = [run for run in ended if run.state is State.WRONG_COPY]
        if wrong:
            return wrong[0]
        if State.FAILED in states or (State.SKIPPED in states and len(states) > 1):
            end = self._job_end(runs)
            return SideRun(State.FAILED, cause_of(end), job=end)
        for state in (State.ABANDONED, State.UNMEASURED, State.SKIPPED):
            if state in states:
                return next(run for run in ended if run.state is state)
        reports = [run.report for run in ended if run.report is not None]
        report = merged(reports) if len(reports) == len(self._ranks) else None
        ran, cost = Ran.of_all([run.ran for run in ended]), ended[0].cost
        return SideRun(State.RAN, "", report, ended[0].imported, ran=ran, cost=cost)

    def _job_end(self, runs: Sequence[SideRun | None]) -> JobEnd:
        """Return how each rank left a test that one of them failed, or skipped alone."""
        ranks = []
        for files, run in zip(self.process.files(), runs, strict=True):
            outcome = RankOutcome.STOPPED if run is None else OUTCOMES[run.state]
            text = "" if run is None else run.text
            phase = RankPhase(files.phase() or RankPhase.CALL)
            ranks.append(RankEnd(files.rank, outcome, phase, text=text, output=files.output()))
        return JobEnd(tuple(ranks), self.process.command, 0.0)


OUTCOMES = {
    State.RAN: RankOutcome.PASSED,
    State.FAILED: RankOutcome.FAILED,
    State.SKIPPED: RankOutcome.SKIPPED,
    State.UNMEASURED: RankOutcome.PASSED,
    State.ABANDONED: RankOutcome.STOPPED,
}

# -- starting it ----------------------------------------------------------------------------------

NO_FAULTHANDLER = ("-p", "no:faulthandler")
"""Stacks go into a file of the rank."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """How many ranks a job has, and what starts them."""

    nprocs: int
    launcher: Launcher


def write_order(
    ranks: Ranks, job: Job, folder: Path, timeout_s: float, path: Path | None = None
) -> tuple[str, ...]:
    """Write down what the ranks are told; return the command line of one."""
    arguments = (*NO_FAULTHANDLER, *job.pytest_args)
    order = RankOrder(
        job=replace(job, pytest_args=arguments),
        folder=str(folder),
        nprocs=ranks.nprocs,
        timeout_s=timeout_s,
        begun=time.time(),
        host=socket.gethostname(),
        controller=os.getpid(),
        launcher=ranks.launcher.words[0],
        socket=None if path is None else str(path),
    )
    order_file = folder / "order.json"
    order_file.write_text(json.dumps(plain(order)), encoding="utf-8")
    return (sys.executable, "-P", os.fspath(boot.__file__), str(order_file))


def start_ranks(
    ranks: Ranks,
    job: Job,
    env: Mapping[str, str],
    cores: Sequence[int],
    batons: Sequence[socket.socket | None],
    folder: Path,
) -> RankedSide:
    """Start a job of ranks, in a folder of its own within `folder`."""
    own = Path(tempfile.mkdtemp(prefix="j", dir=folder))
    channels = RankChannels(own / "s", batons)
    try:
        command = write_order(ranks, job, own, 0.0, own / "s")
        started = MpiJob(
            JobOrder(ranks.launcher, ranks.nprocs, command, own, job.cwd, env), cores=cores
        )
    except BaseException:
        channels.close()
        raise
    return RankedSide(SIDES[job.side], started, channels)
