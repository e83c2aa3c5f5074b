"""Learning as one watches it: reports every so often, and what they are handed to.

`DeepAgent.learn` is this loop. A report tells of the episodes that ended last; it goes to the
callbacks, a CSV file, TensorBoard and a bar, whichever are asked for.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from rl_impls.agents.agent import DeepAgent, check_fits
from rl_impls.agents.evaluation import BestCheckpoint, play
from rl_impls.envs.control.make import EnvSource, made_again
from rl_impls.errors import SettingError, at_least
from rl_impls.monitor import BufferedLogger, ProgressBar
from rl_impls.runtimes.deep import DeepRuntime
from rl_impls.runtimes.run import Every, Progress, run
from rl_impls.tensorboard import EventFile

REPORTS: Final = 100  # of a training, where nobody says how many
COLUMNS: Final = ("steps", "episodes", "mean_return", "mean_length", "steps_per_s")
TAGS: Final = {
    "mean_return": "rollout/mean_return",
    "mean_length": "rollout/mean_length",
    "episodes": "rollout/episodes",
    "steps_per_s": "time/steps_per_s",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What a callback is told; `agent` is the one that learns."""

    agent: DeepAgent
    steps: int  # that the agent has made in all
    episodes: int  # that ended since `learn` was called
    mean_return: float  # of the last 100 that ended, with exploration; NaN before the first
    mean_length: float
    steps_per_s: float  # since `learn` was called, reports and callbacks left out


Callback = Callable[[Report], bool | None]
"""Is told of a training every so often; True ends it."""


def learn(
    agent: DeepAgent,
    n_steps: int,
    *,
    callbacks: Sequence[Callback] = (),
    every: int | None = None,
    progress: bool = False,
    log: str | Path | None = None,
    tensorboard: str | Path | None = None,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Let an agent learn in its own environments; see `DeepAgent.learn`."""
    at_least(1, n_steps=n_steps)
    if every is not None:
        at_least(1, every=every)
    for callback in callbacks:
        if not callable(callback):
            raise SettingError(f"{callback!r} is no callback: give functions that take a Report.")
    env = agent.own_env()
    check_fits(agent, env)
    n_before = agent.n_steps
    with ExitStack() as until_done:
        told: list[Callback] = []
        if log is not None:
            told.append(_into_csv(until_done.enter_context(BufferedLogger(log, COLUMNS))))
        if tensorboard is not None:
            told.append(_into_events(until_done.enter_context(closing(EventFile(tensorboard)))))
        bar = None
        if progress:
            title = f"{agent.env_name or 'environments'} {agent.name}"
            bar = ProgressBar(title, n_steps, stream or sys.stderr)
            until_done.callback(bar.close)
        runtime = DeepRuntime(agent, env)
        reports = _Reports(Every(every or -(-n_steps // REPORTS)), [*told, *callbacks])
        run(runtime, n_steps, hooks=[reports] if reports.callbacks else [], tick=bar, clock=clock)
    assert agent.n_steps > n_before


@dataclass(frozen=True, slots=True)
class _Reports:
    """A hook of `run` that tells callbacks."""

    every: Every
    callbacks: Sequence[Callback]

    def __call__(self, progress: Progress, runtime: DeepRuntime) -> bool:
        recent = runtime.recent
        report = Report(
            runtime.agent,
            runtime.agent.n_steps,
            progress.done.episodes,
            recent.mean_return,
            recent.mean_length,
            progress.steps_per_s,
        )
        # All are told, whatever another one decides.
        return True in [bool(callback(report)) for callback in self.callbacks]


def _into_csv(logger: BufferedLogger) -> Callback:
    def write(report: Report) -> None:
        logger.log(getattr(report, name) for name in COLUMNS)
        logger.flush()  # reports are few, and somebody may be watching the file

    return write


def _into_events(events: EventFile) -> Callback:
    def write(report: Report) -> None:
        scalars = {tag: float(getattr(report, name)) for name, tag in TAGS.items()}
        known = {tag: value for tag, value in scalars.items() if not math.isnan(value)}
        events.write(report.steps, known)

    return write


@dataclass(frozen=True, slots=True)
class StopAt:
    """A callback that ends a training whose last 100 episodes earned so much on average."""

    mean_return: float

    def __call__(self, report: Report) -> bool:
        return report.mean_return >= self.mean_return


class KeepBest:
    """A callback that plays greedy episodes, and keeps the parameters that earned most in them.

    With `patience` it ends the training after so many reports in a row that were no better, and
    gives the best parameters back; else `restore` does. `env` is where to play, if not in more of
    the agent's own environments.
    """

    def __init__(
        self,
        env: EnvSource | None = None,
        *,
        episodes: int = 20,
        patience: int | None = None,
        seed: int = 1_000_000_000,  # far from what people choose for a training
    ) -> None:
        at_least(1, episodes=episodes)
        self._env: Final = env
        self._checkpoint: Final = BestCheckpoint(self._score, patience=patience)
        self._episodes: Final = episodes
        self._seed: Final = seed

    @property
    def best(self) -> float:
        """The mean return of the best parameters so far."""
        return self._checkpoint.best

    def __call__(self, report: Report) -> bool:
        self._checkpoint.judge(report.agent)
        if self._checkpoint.is_over:
            self.restore(report.agent)
        return self._checkpoint.is_over

    def restore(self, agent: DeepAgent) -> None:
        """Give the agent the best parameters."""
        self._checkpoint.restore_best(agent)

    def _score(self, agent: Any) -> float:
        env = more_like(agent) if self._env is None else self._env
        return float(play(agent, env, self._episodes, seed=self._seed).returns.mean())


def more_like(agent: object) -> EnvSource:
    """Return what makes more of an agent's own environments."""
    source = agent.env_source if isinstance(agent, DeepAgent) else None
    again = None if source is None else made_again(source)
    if again is None:
        raise SettingError(
            "nothing is known to make more of this agent's environments: hand one over, by name, "
            "as a gymnasium.Env, or as a function that makes one."
        )
    return again
