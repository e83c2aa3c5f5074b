"""A hook of the learner that tells how the pipeline does, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rl_impls.pipeline.health import Limits, Metrics, render, warnings_of
from rl_impls.pipeline.learner import Learner
from rl_impls.runtimes.run import Every, Progress

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
