"""A rank that measures: one side's worker, which shares every test with the ranks beside it."""

import faulthandler
import os
import signal
import socket
from collections.abc import Sequence

import pytest

from pytest_rlperf.launch.channel import Channel, ChannelClosed
from pytest_rlperf.launch.imports import install_tree_finder
from pytest_rlperf.launch.mpi.rank_files import RankFiles
from pytest_rlperf.measure.clock import Clock
from pytest_rlperf.measure.mpi.channels import connect
from pytest_rlperf.measure.mpi.rank_player import RankPlayer
from pytest_rlperf.measure.mpi.rank_session import HERE, Here, PhaseMarks
from pytest_rlperf.measure.pinning import core_of_rank, pin
from pytest_rlperf.measure.player import Player
from pytest_rlperf.measure.reference import ReferenceWorker
from pytest_rlperf.measure.turns import Baton
from pytest_rlperf.measure.worker import WorkerSession
from pytest_rlperf.model.job import Job
from pytest_rlperf.model.rank_order import RankOrder


def work_as_rank(order: RankOrder, files: RankFiles, here: Here) -> int:
    """Run the session; returns the process's exit status."""
    assert order.socket is not None
    job = order.job
    stacks = files.path("stacks").open("a", encoding="utf-8")
    faulthandler.register(signal.SIGUSR1, file=stacks)  # the controller asks before it kills
    sock, partner = connect(order.socket, here.rank, os.getpid())
    _close_in_children(sock, partner)
    if job.reference:  # kernels do not communicate: the batons keep the ranks together
        return ReferenceWorker(job, Channel(sock), Baton(partner), here.rank).work()
    session = RankWorker(job, Channel(sock), Baton(partner), here)
    install_tree_finder(job.head_tree, job.tree, job.import_roots)
    try:
        return int(pytest.main(list(job.pytest_args), plugins=[session, PhaseMarks(files)]))
    except ChannelClosed:
        return 3  # the controller is gone, and with it the reason to go on


def _close_in_children(*sockets: socket.socket | None) -> None:
    """A child that held one open would hide this process's end."""
    for sock in sockets:
        if sock is not None:
            os.register_at_fork(after_in_child=sock.close)


class RankWorker(WorkerSession):
    """The pytest plugin of a rank that measures."""

    def __init__(self, job: Job, channel: Channel, baton: Baton, here: Here) -> None:
        super().__init__(job, channel, baton)
        self._here = here

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[HERE] = self._here
        super().pytest_configure(config)

    def _make_player(self, clock: Clock) -> Player:
        job, world = self._job, self._here.world.Dup()
        return RankPlayer(self._channel, clock, job.side, self._baton, job.slowdown, world)

    def _pin(self, cores: Sequence[int]) -> None:
        pin(core_of_rank(cores, self._here.rank))
