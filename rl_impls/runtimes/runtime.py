"""What a runtime is: something that makes a learner train, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rl_impls.envs.tabular import TabularEnv
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.training import Training

Tick = Callable[[int], None]
"""Told now and then how many steps of the present call are made."""


class MakeEnv(Protocol):
    """Makes an environment with a stream of chance of its own; workers need it to be picklable.

    `functools.partial(make_tabular, "TicTacToe-v0")` is one.
    """

    def __call__(self, *, seed: int | None) -> TabularEnv: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """How a training ran, to be recorded with its result."""

    runtime: str
    processes: int
    steps_per_sync: int | None  # None where there is nothing to merge
    cores: tuple[int, ...]  # that the processes were pinned to, in order; empty: not pinned
    threads: int | None  # that BLAS and OpenMP may use in each process; None: their own choice


class Trains(Protocol):
    """All that `run` asks for."""

    def train(self, n_steps: int, tick: Tick | None = None) -> Training: ...


class Runtime(Protocol):
    @property
    def facts(self) -> Facts: ...

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        """Play and learn for exactly `n_steps` steps."""

    def learner(self) -> QLearner:
        """The learner with all that was learned so far."""

    def peak_rss_bytes(self) -> int:
        """The most memory in use so far, the sum over all processes."""
