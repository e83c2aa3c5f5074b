"""Training with actors in processes of their own; the learner stays in the process of the caller.

An agent learns here what it would learn in `agents.training.train`: as many updates for as many
steps, its target network at the same counts. Only the rows are older, and so are the weights that
made them: by what waits in the rings, and by the intervals of publishing and of looking.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from rl_impls.agents.agent import seeds_of
from rl_impls.agents.dqn import DQN
from rl_impls.agents.settings import at_least
from rl_impls.errors import SettingError
from rl_impls.pipeline import actor
from rl_impls.pipeline.actor import GO, Job, MakeBatch
from rl_impls.pipeline.bell import Bell
from rl_impls.pipeline.collector import Collector
from rl_impls.pipeline.health import Limits, Metrics, render, warnings_of
from rl_impls.pipeline.locked import LockedRing
from rl_impls.pipeline.ring import RowRing
from rl_impls.pipeline.settings import PipelineSettings
from rl_impls.pipeline.tally import Tally
from rl_impls.pipeline.weights import SharedWeights
from rl_impls.replay.layout import row_type
from rl_impls.runtimes.balance import shares
from rl_impls.runtimes.memory import NamelessMemory
from rl_impls.runtimes.placement import cap_threads, cores_for
from rl_impls.runtimes.processes import Member, end, interrupts_held_back, start

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training did. Starting and ending processes is no part of its time."""

    steps: int  # rows that reached the replay
    drops: int
    updates: int
    episodes: int
    batches: int
    published: int
    seconds: float
    waiting_s: float  # the learner's, for rows
    blocked_s: float  # the actors', for room or for a lock, all together
    mean_lag: float  # in updates, over batches
    most_lag: float


def train(
    agent: DQN,
    make_env: MakeBatch,
    n_steps: int,
    settings: PipelineSettings | None = None,
    *,
    seed: int | None = None,
    limits: Limits | None = None,
    tell: Tell | None = None,
) -> Trained:
    """Let actors make `n_steps` steps of all environments together, and the agent learn from them.

    Each actor has a batch of the shape that the agent was made for, and steps as a whole: the last
    ones may lead beyond `n_steps`. The agent has all that was learned also when a process died
    (`WorkerDied`, with its name) or Ctrl+C ended the training. `tell` gets a report every so often.
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
            learner = _Learner(agent, settings, shared, members, limits or Limits(), tell)
            for member in members:
                member.tell(GO)
            return learner.run()
    finally:
        end(members)


class _Shared:
    """All memory that the processes have in common."""

    def __init__(self, agent: DQN, settings: PipelineSettings) -> None:
        words = row_type(agent.shape.obs_size, agent.shape.act_size).itemsize // 8
        self.data: Final = Bell()
        make: Callable[..., RowRing] = RowRing
        if settings.locked:
            make = partial(LockedRing, lock=NamelessMemory(1))
        self.rings: Final = [
            make(settings.capacity, words, when_full=settings.when_full, data=self.data)
            for _ in range(settings.actors)
        ]
        self.weights: Final = SharedWeights(sum(array.size for array in agent.parameters()))
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
            kind=type(agent),
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


class _Learner:
    """The loop of the learner: wait, move to the replay, learn what is due, publish, report."""

    def __init__(
        self,
        agent: DQN,
        settings: PipelineSettings,
        shared: _Shared,
        members: Sequence[Member],
        limits: Limits,
        tell: Tell | None,
    ) -> None:
        self._agent: Final = agent
        self._settings: Final = settings
        self._weights: Final = shared.weights
        self._tallies: Final = shared.tallies
        self._collector: Final = Collector(shared.rings, members, shared.data)
        self._limits: Final = limits
        self._tell: Final = tell
        self._first_update: Final = agent.updates_made
        self._published_at = agent.updates_made
        self._n_published = 0
        self._processed = self._batches = 0
        self._waiting_s = 0.0
        self._lags: Final[list[float]] = []
        self._publish()

    def run(self) -> Trained:
        begin = time.perf_counter()
        reports = _Reports(begin)
        while self._wait():
            n = self._collector.move_to(self._agent.replay)
            self._processed += n
            self._batches += 1
            self._lags.append(self._lag())
            self._learn(n)
            if self._tell and reports.is_due(self._processed, self._settings.report_every):
                self._report(reports)
        self._publish()
        return self._trained(time.perf_counter() - begin)

    def _wait(self) -> int:
        begin = time.perf_counter()
        there = self._collector.wait(self._settings.batch_rows)
        self._waiting_s += time.perf_counter() - begin
        return there

    def _learn(self, n: int) -> None:
        """Piece by piece, so that targets are renewed and weights published at their counts."""
        piece = self._agent.settings.update_every
        for begin in range(0, n, piece):
            self._agent.advance(min(piece, n - begin))
            if self._agent.updates_made - self._published_at >= self._settings.publish_interval:
                self._publish()

    def _publish(self) -> None:
        self._published_at = self._agent.updates_made
        self._n_published += self._weights.publish(self._agent.parameters(), self._version())

    def _version(self) -> int:
        """Updates so far, and one: 0 is no version."""
        return self._agent.updates_made + 1

    def _lag(self) -> float:
        versions = [tally.version or 1 for tally in self._tallies]
        return self._version() - sum(versions) / len(versions)

    def _report(self, reports: _Reports) -> None:
        assert self._tell is not None
        episodes, returns = self._episodes()
        elapsed, waiting, blocked, rows, ended, gained = reports.since_the_last(
            time.perf_counter(), self._waiting_s, self._collector.blocked_ns / 1e9,
            self._processed, episodes, returns,
        )  # fmt: skip
        metrics = Metrics(
            processed=self._processed,
            batches=self._batches,
            drops=self._collector.n_dropped,
            buffer=len(self._agent.replay),
            queue=len(self._collector),
            loss=self._agent.loss,
            td_error=self._agent.td_error(),
            mean_return=gained / ended if ended else float("nan"),
            epsilon=self._agent.epsilon,
            lag=self._lag(),
            rows_per_s=rows / elapsed,
            waiting=waiting / elapsed,
            blocked=blocked / elapsed / self._settings.actors,
        )
        self._tell("\n".join([render(metrics), *warnings_of(metrics, self._limits)]))

    def _episodes(self) -> tuple[int, float]:
        tallies = self._tallies
        return sum(each.n_episodes for each in tallies), sum(each.returns for each in tallies)

    def _trained(self, seconds: float) -> Trained:
        return Trained(
            steps=self._processed,
            drops=self._collector.n_dropped,
            updates=self._agent.updates_made - self._first_update,
            episodes=self._episodes()[0],
            batches=self._batches,
            published=self._n_published,
            seconds=seconds,
            waiting_s=self._waiting_s,
            blocked_s=self._collector.blocked_ns / 1e9,
            mean_lag=float(np.mean(self._lags)),
            most_lag=max(self._lags),
        )


class _Reports:
    """When one is due, and how far each count came since the last one."""

    def __init__(self, begin: float) -> None:
        self._last: tuple[float, ...] = (begin, 0.0, 0.0, 0.0, 0.0, 0.0)
        self._n = 0

    def is_due(self, processed: int, every: int) -> bool:
        before, self._n = self._n, processed // every
        return self._n > before

    def since_the_last(self, *now: float) -> tuple[float, ...]:
        before, self._last = self._last, now
        return tuple(value - last for value, last in zip(now, before, strict=True))
