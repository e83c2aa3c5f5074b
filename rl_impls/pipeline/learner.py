"""The loop of the learner: wait for rows, move them to the replay, learn what is due, publish."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rl_impls.agents.dqn import DQN
from rl_impls.monitor.usage import peak_rss_bytes
from rl_impls.pipeline.collector import Collector
from rl_impls.pipeline.settings import PipelineSettings
from rl_impls.pipeline.tally import Tally
from rl_impls.pipeline.weights import SharedWeights
from rl_impls.runtimes.run import Hook, Progress
from rl_impls.runtimes.runtime import Tick
from rl_impls.tabular.training import Training


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
    peak_rss_bytes: int  # the sum over all processes


class Learner:
    """An agent, the rings it learns from and the weights that it publishes."""

    def __init__(
        self,
        agent: DQN,
        settings: PipelineSettings,
        collector: Collector,
        weights: SharedWeights,
        tallies: Sequence[Tally],
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
        self._publish()

    def run(self, hooks: Sequence[Hook[Learner]] = (), tick: Tick | None = None) -> Trained:
        """Until all actors are done. Hooks are called between batches, and the clock runs on: so
        do the actors."""
        begin = time.perf_counter()
        done = self._done()
        while self._wait():
            n = self.collector.move_to(self.agent.replay)
            self._processed += n
            self.batches += 1
            self._lags.append(self.lag())
            self._learn(n)
            before, done = done, self._done()
            if tick is not None:
                tick(done.steps)
            for hook in hooks:
                if hook.every.is_due(before, done):
                    hook(Progress(done, time.perf_counter() - begin), self)
        self._publish()
        return self._trained(time.perf_counter() - begin)

    def lag(self) -> float:
        """Updates that the actors' weights are behind, the mean over actors."""
        versions = [tally.version or 1 for tally in self._tallies]
        return self._version() - sum(versions) / len(versions)

    def _done(self) -> Training:
        """The returns are those of episodes that ended."""
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
        """From one update to the next, wherever a batch begins: so they come at the same counts as
        in one process, and targets and publications, too."""
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
        """Updates so far, and one: 0 is no version."""
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
