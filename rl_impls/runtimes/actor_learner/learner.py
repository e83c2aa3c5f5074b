"""The learner's side: it waits for rows, moves them to the replay, learns, publishes and
reports."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Final

import numpy as np

from rl_impls.agents.dqn import DQN
from rl_impls.replay.uniform import UniformReplay
from rl_impls.runtimes.actor_learner.actor import ActorTally
from rl_impls.runtimes.actor_learner.ring import Bell, RowRing, Rows
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from rl_impls.runtimes.actor_learner.weights import SharedWeights
from rl_impls.runtimes.machine import peak_rss_bytes
from rl_impls.runtimes.processes import Member
from rl_impls.runtimes.run import Every, Hook, Progress, Tick, call_due
from rl_impls.tabular.training import Training


class Collector:
    """Rings that share one bell, each with the process that writes to it."""

    def __init__(
        self,
        rings: Sequence[RowRing],
        members: Sequence[Member],
        data: Bell,
        *,
        until: Connection | None = None,
    ) -> None:
        """`until` ends a wait by having something to say."""
        self._rings: Final = rings
        self._data: Final = data
        self._until: Final = [until] if until else []
        # Those that write still, by the connection over which they tell that they are done.
        self._open: Final[dict[Connection, Member]] = {member.pipe: member for member in members}
        self._room: Final[Mapping[int, Rows]] = {
            id(ring): np.zeros((ring.capacity, ring.words), np.uint64)
            for ring in rings
            if not ring.in_place
        }

    def __len__(self) -> int:
        """Return the rows that wait in all rings."""
        return sum(len(ring) for ring in self._rings)

    @property
    def n_dropped(self) -> int:
        return sum(ring.n_dropped for ring in self._rings)

    @property
    def blocked_ns(self) -> int:
        """The time that all writers together waited."""
        return sum(ring.blocked_ns for ring in self._rings)

    def wait(self, n: int) -> int:
        """Sleep until `n` rows are there, or all that will ever be; returns how many.

        A process that ended before its work raises `WorkerDied` here.
        """
        # Where rows are always there, nobody sleeps, and a death has to be noticed nonetheless.
        self._hear(wait(self._watched(), 0))
        while (there := len(self)) < n and self._open:
            self._sleep(n - there)
        return len(self)

    def _watched(self) -> list[Connection]:
        return [*self._open, *self._until]

    def _sleep(self, n: int) -> None:
        """Sleep until about `n` more rows are there, or somebody has something to say."""
        # Each ring may be the one to bring the rest; the share keeps wake-ups few.
        share = -(-n // len(self._rings))
        sleeps = [ring.asks_for(len(ring) + share) for ring in self._rings]
        if all(sleeps):
            self._hear(self._data.wait(self._watched()))

    def _hear(self, pipes: Iterable[Any]) -> None:
        """Hear from processes: all that one ever says is that it is done."""
        for pipe in pipes:
            if pipe in self._until:
                raise EOFError("nobody waits for this training any more")
            self._open[pipe].answer()
            del self._open[pipe]

    def move_to(self, replay: UniformReplay) -> int:
        """Move all rows that are there now, oldest first of each ring, and return how many."""
        return sum(self._move(ring, replay) for ring in self._rings)

    def _move(self, ring: RowRing, replay: UniformReplay) -> int:
        if not ring.in_place:
            rows = ring.take(self._room[id(ring)])
            replay.add_rows(rows.view(np.float32))
            return len(rows)
        n = 0
        for _ in range(2):  # to the end of the memory, and from its beginning
            rows = ring.peek()
            replay.add_rows(rows.view(np.float32))
            ring.release(len(rows))
            n += len(rows)
        return n


@dataclass(frozen=True, slots=True)
class Trained:
    """Figures of a training. Starting and ending processes is no part of its time."""

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
    peak_rss_bytes: int  # the sum over all processes


class Learner:
    """An agent, the rings it learns from and the weights that it publishes."""

    def __init__(
        self,
        agent: DQN,
        settings: PipelineSettings,
        collector: Collector,
        weights: SharedWeights,
        tallies: Sequence[ActorTally],
    ) -> None:
        self.agent: Final = agent
        self.settings: Final = settings
        self.collector: Final = collector
        self.batches = 0
        self.waiting_s = 0.0
        self._weights: Final = weights
        self._tallies: Final = tallies
        self._first_update: Final = agent.updates_made
        self._published_at = agent.updates_made
        self._n_published = 0
        self._processed = 0
        self._lags: Final[list[float]] = []
        assert isinstance(agent.replay, UniformReplay)  # what rings can be moved to
        self._replay: Final = agent.replay
        self._publish()

    def run(self, hooks: Sequence[Hook[Learner]] = (), tick: Tick | None = None) -> Trained:
        """Learn until all actors are done. Hooks are called between batches, and the clock runs on:
        so do the actors."""
        begin = time.perf_counter()
        done = self._done()
        while self._wait():
            n = self.collector.move_to(self._replay)
            self._processed += n
            self.batches += 1
            self._lags.append(self.lag())
            self._learn(n)
            before, done = done, self._done()
            if tick is not None:
                tick(done.steps)
            if call_due(hooks, before, Progress(done, time.perf_counter() - begin), self):
                break
        self._publish()
        return self._trained(time.perf_counter() - begin)

    def lag(self) -> float:
        """Return how many updates the actors' weights are behind, the mean over actors."""
        versions = [tally.version or 1 for tally in self._tallies]
        return self._version() - sum(versions) / len(versions)

    def _done(self) -> Training:
        """Count what was done; the returns are those of episodes that ended."""
        tallies = self._tallies
        return Training(
            self._processed,
            sum(tally.n_episodes for tally in tallies),
            sum(tally.returns for tally in tallies),
        )

    def _wait(self) -> int:
        begin = time.perf_counter()
        there = self.collector.wait(self.settings.batch_rows)
        self.waiting_s += time.perf_counter() - begin
        return there

    def _learn(self, n: int) -> None:
        """Learn from one update to the next, wherever a batch begins: so they come at the same
        counts as in one process, and targets and publications, too."""
        every = self.agent.settings.update_every
        goal = self.agent.n_steps + n
        while (now := self.agent.n_steps) < goal:
            self.agent.advance(min(every - now % every, goal - now))
            if self.agent.updates_made - self._published_at >= self.settings.publish_interval:
                self._publish()

    def _publish(self) -> None:
        self._published_at = self.agent.updates_made
        self._n_published += self._weights.publish(self.agent.parameters(), self._version())

    def _version(self) -> int:
        """Return the updates so far, and one: 0 is no version."""
        return self.agent.updates_made + 1

    def _trained(self, seconds: float) -> Trained:
        actors_rss_bytes = sum(tally.peak_rss_bytes for tally in self._tallies)
        return Trained(
            steps=self._processed,
            drops=self.collector.n_dropped,
            updates=self.agent.updates_made - self._first_update,
            episodes=self._done().episodes,
            batches=self.batches,
            published=self._n_published,
            seconds=seconds,
            waiting_s=self.waiting_s,
            blocked_s=self.collector.blocked_ns / 1e9,
            mean_lag=float(np.mean(self._lags)),
            most_lag=max(self._lags),
            peak_rss_bytes=peak_rss_bytes() + actors_rss_bytes,
        )


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts since the beginning; rates and means since the last report."""

    processed: int  # rows that reached the replay
    batches: int  # in which they did
    drops: int
    buffer: int  # transitions in the replay
    queue: int  # rows that wait in the rings
    loss: float
    td_error: float
    mean_return: float  # of the episodes that ended; NaN without any
    epsilon: float
    lag: float  # updates that the actors' weights are behind the learner's, on the mean of actors
    rows_per_s: float
    waiting: float  # the part of its time that the learner slept for want of rows
    blocked: float  # the part of their time that the actors slept for want of room


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the figures, beyond which a report warns."""

    most_drops: float = 0.001  # of all rows
    most_waiting: float = 0.5
    most_lag: float = 1_000.0  # updates


def render(metrics: Metrics) -> str:
    """Return two lines for people."""
    returns = "-" if math.isnan(metrics.mean_return) else f"{metrics.mean_return:.1f}"
    td_error = "-" if math.isnan(metrics.td_error) else f"{metrics.td_error:.4f}"
    return (
        f"Processed {metrics.processed:,}, Batches {metrics.batches:,}, "
        f"Drops {metrics.drops:,}, Buffer {metrics.buffer:,}, Queue {metrics.queue:,}\n"
        f"Loss {metrics.loss:.4f}, TD error {td_error}, Return {returns}, "
        f"Epsilon {metrics.epsilon:.3f}, Lag {metrics.lag:.0f}"
    )


def warnings_of(metrics: Metrics, limits: Limits) -> list[str]:
    """Return what is beyond its limit, and what to do."""
    warnings = []
    made = metrics.processed + metrics.drops
    if made and metrics.drops / made > limits.most_drops:
        warnings.append(
            f"{metrics.drops / made:.1%} of all rows were dropped: learn more seldom, "
            "take fewer actors, or let a full ring wait."
        )
    if metrics.waiting > limits.most_waiting:
        warnings.append(
            f"experience comes slower than it is learned from, and the learner waited "
            f"{metrics.waiting:.0%} of the time: take more actors."
        )
    if metrics.lag > limits.most_lag:
        warnings.append(
            f"actors are {metrics.lag:.0f} updates behind: lower publish_interval, "
            "sync_interval or capacity."
        )
    return warnings


Tell = Callable[[str], None]


class Reports:
    """Two lines every so many rows, and warnings beyond the limits. Rates are since the last."""

    def __init__(self, every_rows: int, tell: Tell, limits: Limits) -> None:
        self.every: Final = Every(every_rows)
        self._tell: Final = tell
        self._limits: Final = limits
        self._last: tuple[float, ...] = (0.0,) * 6

    def __call__(self, progress: Progress, runtime: Learner) -> None:
        metrics = self._metrics(progress, runtime)
        self._tell("\n".join([render(metrics), *warnings_of(metrics, self._limits)]))

    def _metrics(self, progress: Progress, learner: Learner) -> Metrics:
        done, agent, collector = progress.done, learner.agent, learner.collector
        elapsed, waiting, blocked, rows, ended, gained = self._since_the_last(
            progress.seconds, learner.waiting_s, collector.blocked_ns / 1e9,
            done.steps, done.episodes, done.reward_sum,
        )  # fmt: skip
        return Metrics(
            processed=done.steps,
            batches=learner.batches,
            drops=collector.n_dropped,
            buffer=len(agent.replay),
            queue=len(collector),
            loss=agent.loss,
            td_error=agent.td_error(),
            mean_return=gained / ended if ended else float("nan"),
            epsilon=agent.epsilon,
            lag=learner.lag(),
            rows_per_s=rows / elapsed,
            waiting=waiting / elapsed,
            blocked=blocked / elapsed / learner.settings.actors,
        )

    def _since_the_last(self, *now: float) -> tuple[float, ...]:
        before, self._last = self._last, now
        return tuple(value - last for value, last in zip(now, before, strict=True))
