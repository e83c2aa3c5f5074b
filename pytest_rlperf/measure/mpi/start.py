"""Starts the job that is one side of a block."""

import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_rlperf.launch.mpi.job import JobOrder, MpiJob
from pytest_rlperf.launch.mpi.launcher import Launcher
from pytest_rlperf.measure.mpi import boot
from pytest_rlperf.measure.mpi.channels import RankChannels
from pytest_rlperf.measure.mpi.side import RankedSide
from pytest_rlperf.model.job import SIDES, Job
from pytest_rlperf.model.rank_order import RankOrder

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
