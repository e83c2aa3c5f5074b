"""Training with actors in processes of their own; the learner stays in the process of the caller.

An agent learns here what it would learn in `agents.training.train`: as many updates for as many
steps, its target network at the same counts. Only the rows are older, and so are the weights that
made them: by what waits in the rings, and by the intervals of publishing and of looking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from rl_impls.agents.agent import seeds_of
from rl_impls.agents.dqn import DQN
from rl_impls.agents.settings import at_least
from rl_impls.errors import SettingError
from rl_impls.pipeline import actor
from rl_impls.pipeline.actor import GO, Job, MakeBatch
from rl_impls.pipeline.bell import Bell
from rl_impls.pipeline.collector import Collector
from rl_impls.pipeline.compared import ComparedWeights
from rl_impls.pipeline.health import Limits
from rl_impls.pipeline.learner import Learner, Trained
from rl_impls.pipeline.locked import HeldRing, LockedRing
from rl_impls.pipeline.reports import Reports, Tell
from rl_impls.pipeline.ring import RowRing
from rl_impls.pipeline.settings import PipelineSettings
from rl_impls.pipeline.tally import Tally
from rl_impls.pipeline.weights import SharedWeights
from rl_impls.replay.layout import row_type
from rl_impls.runtimes.balance import shares
from rl_impls.runtimes.memory import NamelessMemory
from rl_impls.runtimes.placement import cap_threads, cores_for
from rl_impls.runtimes.processes import Member, end, interrupts_held_back, start
from rl_impls.runtimes.run import Hook
from rl_impls.runtimes.runtime import Tick

__all__ = ["Trained", "train"]


def train(
    agent: DQN,
    make_env: MakeBatch,
    n_steps: int,
    settings: PipelineSettings | None = None,
    *,
    seed: int | None = None,
    hooks: Sequence[Hook[Learner]] = (),
    tick: Tick | None = None,
    limits: Limits | None = None,
    tell: Tell | None = None,
    until: Connection | None = None,
) -> Trained:
    """Let actors make `n_steps` steps of all environments together, and the agent learn from them.

    Each actor has a batch of the shape that the agent was made for, and steps as a whole: the last
    ones may lead beyond `n_steps`. The agent has all that was learned also when a process died
    (`WorkerDied`, with its name) or Ctrl+C ended the training. Hooks are called between batches,
    `tell` gets a report every so often. What `until` has to say, if only that nobody is at its
    other end, ends the training: EOFError.
    """
    at_least(1, n_steps=n_steps)
    settings = settings or PipelineSettings()
    _check(agent, settings)
    shared = _Shared(agent, settings)
    members: list[Member] = []
    try:
        with cap_threads(settings.threads):
            jobs = _jobs(agent, make_env, n_steps, settings, shared, seed)
            with interrupts_held_back():
                members.extend(start(f"actor {job.number}", actor.main, job) for job in jobs)
            for member in members:
                member.answer()  # ready
            collector = Collector(
                shared.rings, members, shared.data,
                held=shared.lock if settings.lock == "batch" else None,
                poll_s=settings.poll_s, until=until,
            )  # fmt: skip
            learner = Learner(agent, settings, collector, shared.weights, shared.tallies)
            if tell is not None:
                hooks = [*hooks, Reports(settings.report_every, tell, limits or Limits())]
            for member in members:
                member.tell(GO)
            return learner.run(hooks, tick)
    finally:
        end(members)


class _Shared:
    """All memory that the processes have in common."""

    def __init__(self, agent: DQN, settings: PipelineSettings) -> None:
        words = row_type(agent.shape.obs_size, agent.shape.act_size).itemsize // 8
        self.data: Final = Bell()
        self.lock: Final = NamelessMemory(1)
        make: Callable[..., RowRing] = RowRing
        if settings.lock != "none":
            make = partial(LockedRing if settings.lock == "copy" else HeldRing, lock=self.lock)
        self.rings: Final = [
            make(settings.capacity, words, when_full=settings.when_full, data=self.data)
            for _ in range(settings.actors)
        ]
        kind = ComparedWeights if settings.compare else SharedWeights
        self.weights: Final = kind(sum(array.size for array in agent.parameters()))
        self.tallies: Final = [Tally() for _ in range(settings.actors)]


def _check(agent: DQN, settings: PipelineSettings) -> None:
    if settings.stage_rows + agent.shape.n_envs > settings.capacity:
        raise SettingError(
            f"a ring of {settings.capacity} rows is too small for the {settings.stage_rows} that "
            f"an actor of {agent.shape.n_envs} environments gathers: raise capacity."
        )


def _jobs(
    agent: DQN,
    make_env: MakeBatch,
    n_steps: int,
    settings: PipelineSettings,
    shared: _Shared,
    seed: int | None,
) -> list[Job]:
    n = settings.actors
    seeds = seeds_of(seed, 2 * n)
    cores = cores_for(n + 1)[1:] if settings.pin else ()
    whole_steps = -(-n_steps // agent.shape.n_envs)
    return [
        Job(
            number=number,
            kind=agent.acting_type(),
            shape=agent.shape,
            settings=agent.settings,
            agent_seed=seeds[2 * number],
            env_seed=seeds[2 * number + 1] >> 33,  # Gymnasium takes no larger ones everywhere
            make_env=make_env,
            n_steps=part,
            first_step=agent.n_steps,
            n_actors=n,
            stage_rows=settings.stage_rows,
            sync_interval=settings.sync_interval,
            ring=shared.rings[number],
            weights=shared.weights,
            tally=shared.tallies[number],
            cores=cores[number : number + 1],
            threads=settings.threads,
        )
        for number, part in enumerate(shares(whole_steps, [1.0] * n))
    ]
