"""Training with actors in processes of their own; the learner stays in the process of the caller.

An agent learns here what it would learn in `agents.agent.train`: as many updates for as many
steps, its target network at the same counts. Only the rows are older, and so are the weights that
made them: by what waits in the rings, and by the intervals of publishing and of looking.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from rl_impls.agents.agent import Shape, State, seeds_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.errors import ImplsError, SettingError, WorkerDied, at_least
from rl_impls.replay.layout import row_type
from rl_impls.runtimes.actor_learner import actor
from rl_impls.runtimes.actor_learner.actor import GO, ActorJob, ActorTally, MakeBatch
from rl_impls.runtimes.actor_learner.learner import (
    Collector,
    Learner,
    Limits,
    Reports,
    Tell,
    Trained,
)
from rl_impls.runtimes.actor_learner.ring import Bell, RowRing
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from rl_impls.runtimes.actor_learner.weights import SharedWeights
from rl_impls.runtimes.machine import cap_threads, cores_for
from rl_impls.runtimes.processes import (
    GRACE_S,
    Member,
    end,
    failures_told,
    interrupts_held_back,
    start,
)
from rl_impls.runtimes.run import Hook, Tick
from rl_impls.runtimes.shared_table import shares

__all__ = ["Plan", "Trained", "Transport", "train", "train_many"]


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
    transport: type[Transport] | None = None,
) -> Trained:
    """Let actors make `n_steps` steps of all environments together, and the agent learn from them.

    Each actor has a batch of the shape that the agent was made for, and steps as a whole: the last
    ones may lead beyond `n_steps`. The agent has all that was learned also when a process died
    (`WorkerDied`, with its name) or Ctrl+C ended the training. Hooks are called between batches,
    `tell` gets a report every so often. What `until` has to say, if only that nobody is at its
    other end, ends the training: EOFError. Rows and weights go through a `transport`, this one
    unless another is to be compared with it.
    """
    at_least(1, n_steps=n_steps)
    settings = settings or PipelineSettings()
    _check(agent, settings)
    shared = (transport or Transport)(agent, settings)
    members: list[Member] = []
    try:
        with cap_threads(settings.threads):
            jobs = _jobs(agent, make_env, n_steps, settings, shared, seed)
            with interrupts_held_back():
                members.extend(start(f"actor {job.number}", actor.main, job) for job in jobs)
            for member in members:
                member.answer()  # ready
            collector = shared.collector(members, until)
            learner = Learner(agent, settings, collector, shared.weights, shared.tallies)
            if tell is not None:
                hooks = [*hooks, Reports(settings.report_every, tell, limits or Limits())]
            for member in members:
                member.tell(GO)
            return learner.run(hooks, tick)
    finally:
        end(members)


class Transport:
    """The memory that the processes have in common: a ring an actor, the weights, the tallies."""

    def __init__(self, agent: DQN, settings: PipelineSettings) -> None:
        words = row_type(agent.shape.obs_size, agent.shape.act_size).itemsize // 8
        self.data: Final = Bell()
        self.settings: Final = settings
        self.rings: Final = [self._make_ring(words) for _ in range(settings.actors)]
        self.weights: Final = self._make_weights(sum(array.size for array in agent.parameters()))
        self.tallies: Final = [ActorTally() for _ in range(settings.actors)]

    def _make_ring(self, words: int) -> RowRing:
        settings = self.settings
        return RowRing(settings.capacity, words, when_full=settings.when_full, data=self.data)

    def _make_weights(self, size: int) -> SharedWeights:
        return SharedWeights(size)

    def collector(self, members: Sequence[Member], until: Connection | None) -> Collector:
        """Make the learner's end of the rings, which these processes write to."""
        return Collector(self.rings, members, self.data, until=until)


def _check(agent: DQN, settings: PipelineSettings) -> None:
    if agent.settings.prioritised:
        raise SettingError("actors fill a uniform replay: leave prioritised out, or train alone.")
    if agent.settings.n_step > 1:
        raise SettingError("actors hand on single steps: leave n_step out, or train alone.")
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
    shared: Transport,
    seed: int | None,
) -> list[ActorJob]:
    n = settings.actors
    seeds = seeds_of(seed, 2 * n)
    cores = cores_for(n + 1)[1:] if settings.pin else ()
    whole_steps = -(-n_steps // agent.shape.n_envs)
    return [
        ActorJob(
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


# Several agents at once: each has a pipeline of its own, whose learner is a process of its own.
#
# Nothing is shared between them but the machine. The process of the caller only waits: it starts
# the learners, hears from them, and ends them all when one fails.


STOP: Final = "stop"
_REMEDY: Final = "all trainings stopped; what the other agents learned so far can be saved."


@dataclass(frozen=True, slots=True)
class Plan:
    """The training of one agent: all that `train` takes, and a name to tell it by."""

    name: str
    agent: DQN
    make_env: MakeBatch
    n_steps: int
    settings: PipelineSettings = field(default_factory=PipelineSettings)
    seed: int | None = None


def train_many(plans: Sequence[Plan], *, tell: Tell | None = None) -> dict[str, Trained]:
    """Train all agents at the same time; what each training did, by its name.

    When a process dies (`WorkerDied`, with the names of plan and process) or Ctrl+C ends the
    training, all end, and the agents have what was learned. Only what a learner had that was killed
    itself is lost. `tell` gets the reports, each with the name in front.
    """
    _check_names(plans)
    members: list[Member] = []
    try:
        with interrupts_held_back():
            for plan in plans:
                job = _job(plan, tells=tell is not None)
                member = start(f"the learner of {plan.name}", main, job, leaf=False)
                members.append(replace(member, remedy=_REMEDY))
        busy = {member.pipe: (plan, member) for plan, member in zip(plans, members, strict=True)}
        try:
            return _gather(busy, tell)
        except BaseException:
            _stop(busy)
            raise
    finally:
        end(members)


def _check_names(plans: Sequence[Plan]) -> None:
    names = [plan.name for plan in plans]
    if not plans or len(set(names)) < len(names):
        raise SettingError(f"plans have names of their own, and there is at least 1, not {names}.")


# -- the process of the caller ---------------------------------------------------------------------

_Busy = dict[Connection, tuple[Plan, Member]]


def _gather(busy: _Busy, tell: Tell | None) -> dict[str, Trained]:
    """Hear from all until nobody is busy."""
    done: dict[str, Trained] = {}
    while busy:
        for pipe in wait(list(busy)):
            assert isinstance(pipe, Connection)
            plan = busy[pipe][0]
            said = _answer(busy, pipe)
            if isinstance(said, str):
                assert tell is not None
                tell(f"{plan.name}: {said}")
                continue
            _take_over(plan.agent, said)
            if said.trained is None:
                raise WorkerDied(f"{plan.name}: {said.reason}")
            done[plan.name] = said.trained
    return done


def _answer(busy: _Busy, pipe: Connection) -> Any:
    """Return what a learner says next; it is busy as long as it reports."""
    member = busy[pipe][1]
    try:
        said = member.answer()
    except ImplsError:
        del busy[pipe]
        raise
    if not isinstance(said, str):
        del busy[pipe]
    return said


def _stop(busy: _Busy) -> None:
    """Tell all to end, and take over what they have learned by then."""
    for pipe in busy:
        with suppress(BrokenPipeError):  # it is done, and what it said waits to be read
            pipe.send(STOP)
    while busy:
        pipe, (plan, _) = next(iter(busy.items()))
        try:
            said = _answer(busy, pipe) if pipe.poll(GRACE_S) else None
        except WorkerDied:
            continue
        if said is None:
            del busy[pipe]
        elif not isinstance(said, str):
            _take_over(plan.agent, said)


def _take_over(agent: DQN, ended: _Ended) -> None:
    agent.set_state(ended.state)
    agent.n_steps = ended.n_steps


# -- the process of a learner ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Job:
    kind: type[DQN]
    shape: Shape
    agent_settings: DQNSettings
    state: State
    n_steps_before: int
    make_env: MakeBatch
    n_steps: int
    settings: PipelineSettings
    seed: int | None
    tells: bool


@dataclass(frozen=True, slots=True)
class _Ended:
    """The end of a training, and the agent as it is then."""

    trained: Trained | None  # None: it ended early
    reason: str
    state: State
    n_steps: int


def _job(plan: Plan, *, tells: bool) -> _Job:
    agent = plan.agent
    return _Job(
        kind=type(agent),
        shape=agent.shape,
        agent_settings=agent.settings,
        state=agent.state(),
        n_steps_before=agent.n_steps,
        make_env=plan.make_env,
        n_steps=plan.n_steps,
        settings=plan.settings,
        seed=plan.seed,
        tells=tells,
    )


def main(job: _Job, connection: Connection) -> None:
    with failures_told(connection):
        agent = job.kind(job.shape, job.agent_settings, seed=0)
        agent.set_state(job.state)
        agent.n_steps = job.n_steps_before
        trained, reason = None, ""
        try:
            trained = train(
                agent, job.make_env, job.n_steps, job.settings, seed=job.seed,
                tell=connection.send if job.tells else None, until=connection,
            )  # fmt: skip
        except EOFError:
            reason = "it was told to end"
        except ImplsError as error:
            reason = str(error)
        connection.send(_Ended(trained, reason, agent.state(), agent.n_steps))
