"""Several agents at once: each has a pipeline of its own, whose learner is a process of its own.

Nothing is shared between them but the machine. The process of the caller only waits: it starts the
learners, hears from them, and ends them all when one fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from rl_impls.agents.agent import Shape, State
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.errors import ImplsError, SettingError, WorkerDied
from rl_impls.pipeline.actor import MakeBatch
from rl_impls.pipeline.actor_learner import Trained, train
from rl_impls.pipeline.reports import Tell
from rl_impls.pipeline.settings import PipelineSettings
from rl_impls.runtimes.processes import (
    GRACE_S,
    Member,
    end,
    failures_told,
    interrupts_held_back,
    start,
)

STOP: Final = "stop"
_REMEDY: Final = "all trainings stopped; what the other agents learned so far can be saved."


@dataclass(frozen=True, slots=True)
class Plan:
    """The training of one agent: what `actor_learner.train` takes, and a name to tell it by."""

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
    _check(plans)
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


def _check(plans: Sequence[Plan]) -> None:
    names = [plan.name for plan in plans]
    if not plans or len(set(names)) < len(names):
        raise SettingError(f"plans have names of their own, and there is at least 1, not {names}.")


# -- the process of the caller ---------------------------------------------------------------------

_Busy = dict[Connection, tuple[Plan, Member]]


def _gather(busy: _Busy, tell: Tell | None) -> dict[str, Trained]:
    """Until nobody is busy."""
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
    """What a learner says next; it is busy as long as it reports."""
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
    """How a training ended, and the agent as it is then."""

    trained: Trained | None  # None: it ended early
    reason: str
    state: Mapping[str, Any]
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
