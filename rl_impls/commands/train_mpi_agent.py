"""Deep agents in the ranks of an MPI job, as `python -m rl_impls train` asks for them."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rl_impls.agents.agent import DeepAgent, shape_of
from rl_impls.agents.dqn import DQN
from rl_impls.agents.evaluation import BestCheckpoint, PacedValidation
from rl_impls.agents.ppo import PPO
from rl_impls.commands import arguments as accepts
from rl_impls.commands.result import Result, Speed
from rl_impls.commands.train_agent import N_VALIDATIONS, outcome, settings_of, validating
from rl_impls.commands.train_mpi import rank_seed, run_shown, tell, told_by
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import ControlBatch
from rl_impls.registry import agent_type, make_agent, preset_for
from rl_impls.runtimes import Every, Hook, Progress
from rl_impls.runtimes.deep import Validate
from rl_impls.runtimes.mpi.central import MpiCentralRuntime
from rl_impls.runtimes.mpi.ppo import MpiPPORuntime
from rl_impls.runtimes.mpi.runtime import AtRankZero, Checkpoint, shared

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

AgentRuntime = MpiPPORuntime | MpiCentralRuntime


@dataclass(frozen=True, slots=True)
class WithBest:
    """An agent with its best parameters: all that a training goes on from."""

    agent: DeepAgent
    best: BestCheckpoint

    def save(self, path: Path) -> None:
        self.agent.save(path, None, self.best)


def train(arguments: Namespace, comm: Intracomm) -> None:
    limit = accepts.batch_arguments(arguments.env)
    validation = validating(arguments)
    best = BestCheckpoint(validation)
    saved = _saved(arguments, best) if comm.Get_rank() == 0 else None
    n_before = comm.bcast(0 if saved is None else saved.n_steps)
    seed = rank_seed(arguments.seed, comm.Get_rank(), n_before)
    n_envs, n_own = _n_envs(arguments, comm.Get_size())
    env = make_batch(arguments.env, n_own, seed=seed, **limit)
    settings = settings_of(arguments)
    shape = shape_of(env)._replace(n_envs=n_envs)
    runtime = _runtime(arguments, saved or make_agent(shape, settings, seed=seed), env, comm)
    runtime.agent.env_source = arguments.env
    progress = _run(arguments, runtime, n_before, best, validation)
    told = told_by(runtime, n_before)

    def result() -> Result:
        agent = runtime.agent
        if validation.is_affordable(progress.done.steps):
            best.judge(agent)
        for path in {arguments.save, arguments.checkpoint} - {None}:
            agent.save(path, None, best)
        best.restore_best(agent)
        return Result(
            env=arguments.env,
            agent=arguments.agent,
            backend=agent.backend,
            seed=arguments.seed,
            speed=Speed.of(progress),
            outcome=outcome(arguments, agent),
            peak_rss_bytes=told.peak_rss_bytes,
            facts=told.facts,
            details=told.details,
        )

    tell(runtime, result, arguments.json)


def _saved(arguments: Namespace, best: BestCheckpoint) -> DeepAgent | None:
    if not arguments.resume:
        return None
    return agent_type(arguments.agent).load(arguments.checkpoint, None, best)


def _n_envs(arguments: Namespace, n_ranks: int) -> tuple[int, int]:
    """Return the environments that the agent is made for, and those of a rank."""
    if arguments.runtime == "mpi-central":
        n_workers = max(1, n_ranks - 1)
        n = arguments.envs or n_workers
        own = shared(f"{n} environments", n, n_workers)
        return own, own
    n = arguments.envs or preset_for(arguments.agent, arguments.env).n_envs
    return n, shared(f"{n} environments", n, n_ranks)


def _runtime(
    arguments: Namespace, agent: DeepAgent, env: ControlBatch, comm: Intracomm
) -> AgentRuntime:
    if isinstance(agent, PPO):
        return MpiPPORuntime(agent, env, comm, threads=arguments.threads)
    assert isinstance(agent, DQN)  # the command line lets no others in
    return MpiCentralRuntime(agent, env, comm, threads=arguments.threads)


def _run(
    arguments: Namespace,
    runtime: AgentRuntime,
    n_before: int,
    best: BestCheckpoint,
    validation: PacedValidation,
) -> Progress:
    often = Every(max(1, -(-(arguments.steps - n_before) // N_VALIDATIONS)))
    validate: Hook[AgentRuntime] = Validate(often, best, validation)
    hooks = [AtRankZero(validate)]
    if arguments.checkpoint is None:
        return run_shown(arguments, runtime, n_before, hooks)
    checkpoint = Checkpoint(arguments.checkpoint)
    return run_shown(
        arguments, runtime, n_before, hooks,
        lambda: checkpoint.offer(lambda: WithBest(runtime.agent, best)),
    )  # fmt: skip
