"""What stays the same over a run, and the workers that are started on it."""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pytest_rlperf.launch.environment import worker_environment
from pytest_rlperf.launch.mpi.launcher import Launcher
from pytest_rlperf.measure.mpi.start import Ranks
from pytest_rlperf.measure.pair import Pair, Start
from pytest_rlperf.model.job import Job

PADDING_MAX = 4096
SEED_MAX = 2**32


@dataclass(frozen=True, slots=True)
class Side:
    """Where one side of the duet runs."""

    side: int
    root: Path  # pytest's
    cwd: Path
    tree: Path  # top level of the checkout
    reference: bool = False  # plays the reference kernels
    slowdown: float = 0.0  # share by which its slices are made longer


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that stays the same over the blocks of a run."""

    sides: tuple[Side, ...]
    home: Path  # top level of the tree that this process imports from
    import_roots: tuple[str, ...]
    sys_path: tuple[str, ...]
    pytest_args: tuple[str, ...]
    inipath: str | None  # relative to the root
    options: Mapping[str, Any]
    caches: Path
    folder: Path
    cores: tuple[int, ...]  # empty: this platform cannot pin
    seed: int
    token: str  # marks every process of the run, those that tests start included
    launcher: Launcher | str | None = None  # of ranks, or why there is none; None: no test asks
    shaken: bool = False  # disturb two of three blocks on purpose (see `shaker`)


class Kind(NamedTuple):
    """Tests that differ in it cannot share a worker."""

    nprocs: int
    threads: int
    alone: str = ""  # a test that wants a process for itself


def start_pair(
    stage: Stage,
    kind: Kind,
    nodeids: Sequence[str],
    *,
    rng: random.Random,
    cores: tuple[int, ...],
    scattered: bool = True,
) -> Pair:
    """A fresh process of each side; `scattered`: their memory is laid out by chance."""
    hash_seed = rng.randrange(SEED_MAX)
    starts = []
    for side in stage.sides:
        layout_seed = rng.randrange(SEED_MAX)
        job = _job(stage, side, nodeids, layout_seed if scattered else None)
        env = worker_environment(
            os.environ,
            threads=kind.threads,
            hash_seed=hash_seed,
            padding=rng.randrange(PADDING_MAX) if scattered else 0,
            caches=stage.caches,
            token=stage.token,
            import_folders=[str(side.tree / root) for root in stage.import_roots],
        )
        starts.append(Start(job, env, cores, _ranks(stage, kind)))
    return Pair(starts, stage.folder)


def _ranks(stage: Stage, kind: Kind) -> Ranks | None:
    launcher = stage.launcher
    if not kind.nprocs or not isinstance(launcher, Launcher):
        return None
    return Ranks(kind.nprocs, launcher)


def _job(stage: Stage, side: Side, nodeids: Sequence[str], layout_seed: int | None) -> Job:
    files = dict.fromkeys(str(side.root / nodeid.split("::")[0]) for nodeid in nodeids)
    ini = ("-c", str(side.root / stage.inipath)) if stage.inipath else ()
    return Job(
        side=side.side,
        root=str(side.root),
        cwd=str(side.cwd),
        tree=str(side.tree),
        head_tree=str(stage.home),
        import_roots=stage.import_roots,
        sys_path=stage.sys_path,
        pytest_args=(*stage.pytest_args, "--rootdir", str(side.root), *ini, *files),
        options=stage.options,
        nodeids=tuple(nodeids),
        channel_fd=-1,  # known when the process starts
        baton_fd=None,
        layout_seed=layout_seed,
        reference=side.reference,
        slowdown=side.slowdown,
    )
