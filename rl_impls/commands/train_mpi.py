"""Training in the ranks of an MPI job, as `python -m rl_impls train` asks for it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rl_impls import registry
from rl_impls.commands import arguments as accepts
from rl_impls.commands.result import MpiDetails, Outcome, Result, Speed, publish
from rl_impls.commands.settings import changed
from rl_impls.envs.tabular import TabularEnv
from rl_impls.jit import require_numba
from rl_impls.monitor import ProgressBar
from rl_impls.runtimes import Facts, Hook, Progress
from rl_impls.runtimes import run as train_in_legs
from rl_impls.runtimes.mpi.messages import DEFAULT
from rl_impls.runtimes.mpi.runtime import MpiRuntime, Ranks
from rl_impls.runtimes.mpi.world import deaths_named, ending_together, leave, until_done, world
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.learner import Settings
from rl_impls.tabular.training import check_fit

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm


def run(arguments: Namespace) -> None:
    """Train in the ranks of this job; rank 0 tells the result."""
    require_numba("training over MPI", otherwise="choose --runtime serial")
    comm = world()
    with ending_together(comm), deaths_named():
        if arguments.agent not in registry.AGENTS:
            _train(arguments, comm)
            return
        from rl_impls.commands import train_mpi_agent  # it compiles what tables do without

        train_mpi_agent.train(arguments, comm)


def _train(arguments: Namespace, comm: Intracomm) -> None:
    if arguments.runtime == "mpi-sync" and arguments.compression is None:
        arguments.compression = DEFAULT
    rank, make_env = comm.Get_rank(), accepts.environment(arguments.env)
    saved = CompiledQLearning.load(arguments.checkpoint) if arguments.resume and rank == 0 else None
    n_before = comm.bcast(0 if saved is None else saved.n_steps)
    seed = rank_seed(arguments.seed, rank, n_before)
    env = make_env(seed=seed)
    settings = Settings.for_training(arguments.steps)
    learner = CompiledQLearning(
        env.n_states,
        env.n_actions,
        settings=changed(settings, arguments.set, arguments.agent),
        seed=seed,
    )
    if saved is not None:
        check_fit(saved, env.n_states, env.n_actions)
        learner.set_table(saved.table())
        learner.set_progress(saved.n_steps, saved.n_episodes)
    runtime = _runtime(arguments, learner, env, comm)
    progress = run_shown(arguments, runtime, n_before)
    told = told_by(runtime, n_before, arguments.compression)

    def result() -> Result:
        if arguments.save is not None and learner.n_steps > 0:
            learner.save(arguments.save)
        return Result(
            env=arguments.env,
            agent=arguments.agent,
            backend=None,
            seed=arguments.seed,
            speed=Speed.of(progress),
            outcome=Outcome.of_table(arguments.env, learner, make_env),
            peak_rss_bytes=told.peak_rss_bytes,
            facts=told.facts,
            details=told.details,
        )

    tell(runtime, result, arguments.json)


def rank_seed(seed: int, rank: int, n_before: int) -> int:
    """Return the seed of a rank: rank 0 begins as a serial training does, and a resumed training
    meets games it has not seen."""
    if rank == n_before == 0:
        return seed
    words = np.random.SeedSequence([seed, rank, n_before]).generate_state(1)
    return int(words[0]) >> 1  # Gymnasium takes no larger ones everywhere


def _runtime(
    arguments: Namespace, learner: CompiledQLearning, env: TabularEnv, comm: Intracomm
) -> MpiRuntime:
    # Imported here: they compile.
    from rl_impls.runtimes.mpi.asynchronous import MpiAsyncRuntime
    from rl_impls.runtimes.mpi.runtime import Checkpoint
    from rl_impls.runtimes.mpi.sync import MpiSyncRuntime
    from rl_impls.runtimes.parallel import STEPS_PER_SYNC_COMPILED

    checkpoint = None if arguments.checkpoint is None else Checkpoint(arguments.checkpoint)
    if arguments.runtime == "mpi-async":
        return MpiAsyncRuntime(
            learner, env, comm, threads=arguments.threads, checkpoint=checkpoint,
            steps_per_sync=arguments.steps_per_sync or STEPS_PER_SYNC_COMPILED,
        )  # fmt: skip
    return MpiSyncRuntime(
        learner, env, comm, threads=arguments.threads, checkpoint=checkpoint,
        steps_per_sync=arguments.steps_per_sync, compression=arguments.compression,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ToldByRanks:
    """The parts of a result that all ranks know together."""

    peak_rss_bytes: int
    facts: Facts
    details: MpiDetails


def told_by(runtime: MpiRuntime, n_before: int, compression: str | None = None) -> ToldByRanks:
    """Ask all ranks, and close the runtime."""
    facts, traffic = runtime.facts, runtime.traffic()
    told = ToldByRanks(
        runtime.peak_rss_bytes(),
        facts,
        MpiDetails(
            ranks=facts.processes,
            ranks_lost=facts.processes - runtime.comm.Get_size(),
            resumed_steps=n_before,
            compression=compression,
            syncs=traffic.syncs,
            bytes_sent=traffic.bytes_sent,
            sync_seconds=traffic.sync_seconds,
            sync_period=traffic.sync_period,
        ),
    )
    runtime.close()
    return told


def tell(runtime: MpiRuntime, result: Callable[[], Result], target: str | None) -> None:
    """Let rank 0 tell the result while the others wait for it."""
    if runtime.comm.Get_rank() == 0:
        publish(result(), target)
    if runtime.comm.Get_size() < runtime.facts.processes:
        leave(runtime.comm)
    until_done(runtime.comm.Ibarrier())


def run_shown(
    arguments: Namespace,
    runtime: Ranks,
    n_before: int,
    hooks: Sequence[Hook[Ranks]] = (),
    after_tick: Callable[[], None] = lambda: None,
) -> Progress:
    """Train with a bar that rank 0 shows, whichever process that is by then; it also does what
    comes after a tick."""
    bar = ProgressBar(f"{arguments.env} {arguments.agent}", arguments.steps, sys.stderr)

    def tick(n: int) -> None:
        if runtime.comm.Get_rank() == 0:
            bar(n_before + n)
            after_tick()

    left = max(0, arguments.steps - n_before)
    try:
        return train_in_legs(runtime, left, hooks=hooks, tick=tick)
    finally:
        if runtime.comm.Get_rank() == 0:
            bar.close()
