"""The pytest session of one rank: of a plain run, which reports into files, or of a measuring job,
which is one side's worker and shares every test with the ranks beside it.
"""

import faulthandler
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_rlperf.leaving import OF_MPICH, shared_by_ranks, unname
from pytest_rlperf.machine.host import core_of_rank, pin
from pytest_rlperf.mpi.channels import connect
from pytest_rlperf.mpi.rank_files import RankFiles, RankOutcome, RankPhase, RankReport
from pytest_rlperf.mpi.rank_player import RankPlayer
from pytest_rlperf.trees.imports import install_tree_finder
from pytest_rlperf.wire import Channel, ChannelClosed, Job, RankOrder
from pytest_rlperf.worker.clock import Clock
from pytest_rlperf.worker.player import Player
from pytest_rlperf.worker.reference import ReferenceWorker
from pytest_rlperf.worker.session import ChildSession, WorkerSession
from pytest_rlperf.worker.turns import Baton

LAST_WORDS_S = 1.0
"""A rank that failed gives the others this time to report their own failures before it aborts
the job: without that they would wait for it until their deadline."""
STACKS_S = 1.0
"""Stacks are dumped this long before the deadline, but not in the first half of the time."""


@dataclass(frozen=True, slots=True)
class Here:
    """This process's place in the job."""

    world: Any  # mpi4py's communicator of all ranks
    rank: int
    size: int


HERE = pytest.StashKey[Here]()


def play(order: RankOrder, files: RankFiles) -> int:
    """Run the session of a rank; return the process's exit status."""
    stacks = files.path("stacks").open("w", encoding="utf-8")
    faulthandler.enable(stacks)
    if order.socket is None:  # else the controller asks
        # Coming up may have taken some of the time.
        left_s = max(0.1, order.begun + order.timeout_s - time.time())
        faulthandler.dump_traceback_later(max(left_s - STACKS_S, left_s / 2), file=stacks)
    files.write_phase(RankPhase.INIT)
    from mpi4py import MPI

    here = Here(MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size())
    here.world.Barrier()  # then all of them have the memory that they share
    unname(shared_by_ranks([os.getpid()], (OF_MPICH,)))
    if here.size != order.nprocs:
        text = (
            f"this is one of {here.size} ranks instead of {order.nprocs}: {order.launcher} does "
            f"not belong to {MPI.get_vendor()[0]}, which mpi4py uses; name the launcher that does "
            "in rlperf_mpi_launcher."
        )
        files.write_report(RankReport(RankOutcome.FAILED, text))
        return 1
    files.write_phase(RankPhase.COLLECT)
    status = work_as_rank(order, files, here) if order.socket else _run(order, files, here)
    files.write_phase(RankPhase.FINALIZE)
    if not MPI.Is_finalized():
        MPI.Finalize()
    files.write_phase(RankPhase.DONE)
    return int(status != 0)


def _run(order: RankOrder, files: RankFiles, here: Here) -> int:
    plugins = [RankSession(order, files, here), PhaseMarks(files)]
    return int(pytest.main(list(order.job.pytest_args), plugins=plugins))


class PhaseMarks:
    """The pytest plugin that keeps on disk how far a test of this rank has come."""

    def __init__(self, files: RankFiles) -> None:
        self._files = files

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self._files.write_phase(RankPhase.SETUP)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        self._files.write_phase(RankPhase.CALL)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        self._files.write_phase(RankPhase.TEARDOWN)
        return (yield)


class RankSession(ChildSession):
    """The pytest plugin of a rank."""

    def __init__(self, order: RankOrder, files: RankFiles, here: Here) -> None:
        super().__init__(order.job)
        self._order = order
        self._files = files
        self._here = here

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[HERE] = self._here
        super().pytest_configure(config)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._fail(report.longreprtext, "collect")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not session.items and not session.testsfailed:
            self._fail(f"{self._order.job.nodeids[0]} was not collected", "collect")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._fail(report.longreprtext, report.when)
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            text = reason.removeprefix("Skipped: ")
            self._report(RankReport(RankOutcome.SKIPPED, text, report.when))
        elif report.when == "teardown":
            self._report(RankReport(RankOutcome.PASSED))

    def _report(self, report: RankReport) -> None:
        """Write the report, after what the test printed: whoever reads it may end this process, and
        that would be lost.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        self._files.write_report(report)

    def _fail(self, text: str, when: str) -> None:
        self._report(RankReport(RankOutcome.FAILED, text, when))
        self._wait_for_the_others()
        self._here.world.Abort(1)
        os._exit(1)  # MPICH may return from it, and the test must not go on

    def _wait_for_the_others(self) -> None:
        others = [RankFiles(self._order.folder, rank) for rank in range(self._order.nprocs)]
        until = time.monotonic() + LAST_WORDS_S
        while time.monotonic() < until and any(files.report() is None for files in others):
            time.sleep(0.02)


def work_as_rank(order: RankOrder, files: RankFiles, here: Here) -> int:
    """Run the session of a rank that measures; return the process's exit status."""
    assert order.socket is not None
    job = order.job
    stacks = files.path("stacks").open("a", encoding="utf-8")
    faulthandler.register(signal.SIGUSR1, file=stacks)  # the controller asks before it kills
    sock, partner = connect(order.socket, here.rank, os.getpid())
    _close_in_children(sock, partner)
    if job.reference:  # kernels do not communicate: the batons keep the ranks together
        return ReferenceWorker(job, Channel(sock), Baton(partner), here.rank).work()
    install_tree_finder(job.head_tree, job.tree, job.import_roots)
    session = RankWorker(job, Channel(sock), Baton(partner), here)
    try:
        return int(pytest.main(list(job.pytest_args), plugins=[session, PhaseMarks(files)]))
    except ChannelClosed:
        return 3  # the controller is gone, and with it the reason to go on


def _close_in_children(*sockets: socket.socket | None) -> None:
    """Close sockets in children: one that held them open would hide this process's end."""
    for sock in sockets:
        if sock is not None:
            os.register_at_fork(after_in_child=sock.close)


class RankWorker(WorkerSession):
    """The pytest plugin of a rank that measures."""

    sees_alone = False  # the other ranks would wait for it

    def __init__(self, job: Job, channel: Channel, baton: Baton, here: Here) -> None:
        super().__init__(job, channel, baton)
        self._here = here

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[HERE] = self._here
        super().pytest_configure(config)

    def _make_player(self, clock: Clock) -> Player:
        job, world = self._job, self._here.world.Dup()
        return RankPlayer(
            self._channel, clock, job.side, self._baton, job.slowdown, world, self._watch
        )

    def _pin(self, cores: Sequence[int]) -> None:
        pin(core_of_rank(cores, self._here.rank))
