"""Training of a deep agent in this process, on a batch of environments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from rl_impls.agents.agent import DeepAgent, check_fits, train
from rl_impls.agents.evaluation import BestCheckpoint, PacedValidation
from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.step import Buffers, ControlBatch, Step
from rl_impls.jit import compiled
from rl_impls.registry import make_agent
from rl_impls.runtimes.machine import peak_rss_bytes
from rl_impls.runtimes.run import Every, Progress, Tick
from rl_impls.runtimes.serial import N_TICKS, settle
from rl_impls.tabular.training import Training, check_count


class DeepRuntime:
    """Trains a deep agent in this process, as `SerialRuntime` does a table. A batch steps as a
    whole: the last step may lead beyond those asked for."""

    def __init__(
        self,
        agent: DeepAgent,
        env: ControlBatch,
        *,
        pin: bool = False,
        threads: int | None = None,
    ) -> None:
        check_fits(agent, env)
        self.agent: Final = agent
        self._env: Final = env
        self.facts, self._threads = settle(pin=pin, threads=threads)
        compile_for(agent, env)
        self.recent: Final = RecentEpisodes(env.n_envs)

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        check_count("steps", n_steps)
        start, recent = self.agent.n_steps, self.recent
        episodes, reward_sum = recent.episodes, recent.reward_sum
        in_pieces(
            n_steps,
            lambda: self.agent.n_steps - start,
            lambda n: train(self.agent, self._env, n, tally=recent),
            tick,
        )
        return Training(
            self.agent.n_steps - start, recent.episodes - episodes, recent.reward_sum - reward_sum
        )

    def peak_rss_bytes(self) -> int:
        return peak_rss_bytes()


def in_pieces(
    n_steps: int, n_made: Callable[[], int], make: Callable[[int], object], tick: Tick | None
) -> None:
    """Make steps until there are so many, with a tick now and then."""
    piece = n_steps if tick is None else -(-n_steps // N_TICKS)
    while (left := n_steps - n_made()) > 0:
        make(min(piece, left))
        if tick is not None:
            tick(n_made())


class EpisodeTally:
    """Counts the episodes of a loop and adds its rewards up."""

    def __init__(self) -> None:
        self._totals: Final = np.zeros(2)  # episodes that ended, sum of rewards

    def count(self, step: Step) -> None:
        add_step(step.r_t, step.terminated, step.truncated, self._totals)

    @property
    def episodes(self) -> int:
        return int(self._totals[0])

    @property
    def reward_sum(self) -> float:
        return float(self._totals[1])


@compiled
def add_step(r_t: Any, terminated: Any, truncated: Any, totals: Any) -> None:
    """totals <- episodes that ended, sum of rewards; compiled, since it happens at every step."""
    for row in range(len(r_t)):
        if terminated[row] or truncated[row]:
            totals[0] += 1.0
        totals[1] += r_t[row]


N_RECENT: Final = 100


class RecentEpisodes(EpisodeTally):
    """Counts episodes and rewards, and knows what the last hundred episodes earned."""

    def __init__(self, n_envs: int) -> None:
        super().__init__()
        self._running: Final = np.zeros((n_envs, 2))  # return and length of what has not ended
        self._ended: Final = np.zeros((N_RECENT, 2))  # a ring of those that have

    def count(self, step: Step) -> None:
        add_to_episodes(
            step.r_t, step.terminated, step.truncated, self._totals, self._running, self._ended
        )
        if step.idle is not None:
            self._running[step.idle, 1] -= 1.0

    @property
    def mean_return(self) -> float:
        """NaN before the first episode has ended."""
        return self._mean(0)

    @property
    def mean_length(self) -> float:
        return self._mean(1)

    def _mean(self, column: int) -> float:
        n = min(self.episodes, N_RECENT)
        return float(self._ended[:n, column].mean()) if n else math.nan


@compiled
def add_to_episodes(
    r_t: Any, terminated: Any, truncated: Any, totals: Any, running: Any, ended: Any
) -> None:
    """Add a step to its episodes; those that end go to the ring."""
    for row in range(len(r_t)):
        running[row, 0] += r_t[row]
        running[row, 1] += 1.0
        totals[1] += r_t[row]
        if terminated[row] or truncated[row]:
            slot = int(totals[0]) % len(ended)
            ended[slot] = running[row]
            running[row] = 0.0
            totals[0] += 1.0


class HasAgent(Protocol):
    """Has an agent; the hooks below ask for no more."""

    @property
    def agent(self) -> DeepAgent: ...


class Validate:
    """A hook that keeps the best agent so far, and ends the training when patience does.

    With `within` it judges only when that can afford it.
    """

    def __init__(
        self, every: Every, checkpoint: BestCheckpoint, within: PacedValidation | None = None
    ) -> None:
        self.every: Final = every
        self._checkpoint: Final = checkpoint
        self._within: Final = within

    def __call__(self, progress: Progress, runtime: HasAgent) -> bool:
        if self._within is not None and not self._within.is_affordable(progress.done.steps):
            return False
        self._checkpoint.judge(runtime.agent)
        if self._checkpoint.is_over:
            self._checkpoint.restore_best(runtime.agent)
        return self._checkpoint.is_over


@dataclass(frozen=True, slots=True)
class Save:
    """A hook that writes all that a training goes on from: a killed one loses no more than since
    the last time."""

    every: Every
    path: Path
    env: ControlBatch | None  # that of the training, where there is only one
    checkpoint: BestCheckpoint

    def __call__(self, progress: Progress, runtime: HasAgent) -> bool:
        runtime.agent.save(self.path, self.env, self.checkpoint)
        return False


def compile_for(agent: DeepAgent, env: ControlBatch) -> None:
    """Let a twin act and learn: neither the agent nor its environments notice."""
    twin = make_agent(agent.shape, agent.settings_used, seed=0, backend=agent.backend)
    actions = twin.act(env.obs)
    if isinstance(env, CompiledBatch):
        snapshot = env.snapshot()
        env.step(actions)
        env.restore(snapshot)
    step = Buffers(*env.obs.shape, dtype=env.obs.dtype.type).turn()
    twin.observe(step)
    twin.rehearse()
    add_step(step.r_t, step.terminated, step.truncated, np.zeros(2))
    RecentEpisodes(env.n_envs).count(step)
