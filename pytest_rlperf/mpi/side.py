"""From what the ranks of a job say of a test to what is said of the job."""

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
from typing import Any

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
from pytest_rlperf.wire import SIDES, ChannelClosed, Job, Message, RankOrder
from pytest_rlperf.workers.side import SideRun, State, WorkerSide

Facts = Mapping[str, Any]

TOGETHER = 0.99
"""Of the wall time of the last rank: who takes that long ended with it."""


def merged_facts(ranks: Sequence[Facts]) -> dict[str, Any]:
    """Of scouts, who agree but for their counts, of slices, of the reference kernels, or of
    memory."""
    merged = dict(ranks[0])
    if "values" in merged:
        return merged | _memory(ranks)
    if "work" in merged:
        merged["work"] = summed_work([facts["work"] for facts in ranks])
    if "unit_ns" in merged:
        merged["unit_ns"] = {n: max(f["unit_ns"][n] for f in ranks) for n in merged["unit_ns"]}
    if "own_ns" in merged:
        merged |= _slices(ranks)
    if "kernel_ns" in merged:
        every = [facts["kernel_ns"] for facts in ranks]
        merged["kernel_ns"] = {n: slowest([k[n] for k in every]) for n in merged["kernel_ns"]}
    if any("phases" in facts for facts in ranks):
        shares = summed_work([facts.get("phases", {}) for facts in ranks])
        merged["phases"] = {name: share / len(ranks) for name, share in shares.items()}
    if "communication" in merged:
        merged["ranks"] = {
            "own_ns": [math.fsum(facts["own_ns"]) for facts in ranks],
            "communication": [facts["communication"] for facts in ranks],
            "peak_bytes": [facts["peak_bytes"] for facts in ranks],
        }
    return merged


def _slices(ranks: Sequence[Facts]) -> dict[str, Any]:
    return {
        "own_ns": _job_times(ranks),
        "wall_ns": slowest([facts["wall_ns"] for facts in ranks]),
        "cpu_ns": [sum(times) for times in zip(*(f["cpu_ns"] for f in ranks), strict=True)],
        "preempted": sum(facts["preempted"] for facts in ranks),
    }


def _memory(ranks: Sequence[Facts]) -> dict[str, Any]:
    """Sizes of all ranks together, and each process and segment by the rank that it belongs to."""
    return {
        "values": summed_work([facts["values"] for facts in ranks]),
        **{name: _by_rank(ranks, name) for name in ("processes", "segments") if name in ranks[0]},
        **({"exact": all(f["exact"] for f in ranks)} if "exact" in ranks[0] else {}),
        **({"call_s": max(f["call_s"] for f in ranks)} if "call_s" in ranks[0] else {}),
    }


def _by_rank(ranks: Sequence[Facts], name: str) -> list[tuple[str, int]]:
    return [(f"rank {k}: {what}", size) for k, f in enumerate(ranks) for what, size in f[name]]


def _job_times(ranks: Sequence[Facts]) -> list[int]:
    names = ("own_ns", "exchange_ns" if "exchange_ns" in ranks[0] else "wall_ns")
    of_job = time_of_turns if "exchange_ns" in ranks[0] else time_of_slice
    every = [list(zip(*(facts[name] for name in names), strict=True)) for facts in ranks]
    return [of_job(slices) for slices in zip(*every, strict=True)]


def time_of_slice(ranks: Sequence[tuple[int, int]]) -> int:
    """What a slice would have taken undisturbed; of each rank its own time and its wall time.

    Who waits for another rank spins inside of MPI and looks busy, so that whatever disturbs one
    of them is in the own time of all others. Of ranks that end together, the one with the least
    own time had the least to wait. One that ends before the last one did not wait for it.
    """
    last_own, last_wall = max(ranks, key=lambda rank: rank[1])
    disturbed = last_wall - last_own
    return min(own for own, wall in ranks if wall >= TOGETHER * last_wall - disturbed)


def time_of_turns(ranks: Sequence[tuple[int, int]]) -> int:
    """The same where both jobs run at once; of each rank its own time and the part of it inside
    of MPI: there the rank that computes longest has nobody to wait for.
    """
    computing = max(own - exchange for own, exchange in ranks)
    return max(1, computing + min(exchange for _, exchange in ranks))


def slowest(ranks: Sequence[Sequence[int]]) -> list[int]:
    """Of each slice the longest time."""
    return [max(times) for times in zip(*ranks, strict=True)]


def summed_work(counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """What all ranks did together."""
    names = dict.fromkeys(name for each in counts for name in each)
    return {name: math.fsum(each.get(name, 0.0) for each in counts) for name in names}


# The controller's view of one side whose worker is an MPI job.


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


# Starts the job that is one side of a block.


NO_FAULTHANDLER = ("-p", "no:faulthandler")
"""Stacks go into a file of the rank."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """How many, and what starts them."""

    nprocs: int
    launcher: Launcher


def write_order(
    ranks: Ranks, job: Job, folder: Path, timeout_s: float, path: Path | None = None
) -> tuple[str, ...]:
    """Lay out what the ranks are told; returns the command line of one."""
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
    order_file.write_text(json.dumps(order.as_dict()), encoding="utf-8")
    return (sys.executable, "-P", os.fspath(boot.__file__), str(order_file))


def start_ranks(
    ranks: Ranks,
    job: Job,
    env: Mapping[str, str],
    cores: Sequence[int],
    batons: Sequence[socket.socket | None],
    folder: Path,
) -> RankedSide:
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
