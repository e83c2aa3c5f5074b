"""The one loop of training: legs of steps, and between them what is done every so often.

The clock runs while the runtime trains and stands still between the legs: validating, logging and
monitoring are no part of the throughput. A runtime makes a learner train, in this process or in
several.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rl_impls.envs.tabular import TabularEnv
from rl_impls.errors import SettingError
from rl_impls.schedules import PERS, Per
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.training import Evaluation, Training, check_count, evaluate

Tick = Callable[[int], None]
"""Told now and then how many steps of the present call are made."""


class MakeEnv(Protocol):
    """Makes an environment with a stream of chance of its own; workers need it to be picklable.

    `functools.partial(make_tabular, "TicTacToe-v0")` is one.
    """

    def __call__(self, *, seed: int | None) -> TabularEnv: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """The circumstances of a training, to be recorded with its result."""

    runtime: str
    processes: int
    steps_per_sync: int | None  # None where there is nothing to merge
    cores: tuple[int, ...]  # that the processes were pinned to, in order; empty: not pinned
    threads: int | None  # that BLAS and OpenMP may use in each process; None: their own choice


class Trains(Protocol):
    """Trains; `run` asks for no more."""

    def train(self, n_steps: int, tick: Tick | None = None) -> Training: ...


class Runtime(Protocol):
    @property
    def facts(self) -> Facts: ...

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        """Play and learn for exactly `n_steps` steps."""

    def learner(self) -> QLearner:
        """Return the learner with all that was learned so far."""

    def peak_rss_bytes(self) -> int:
        """Return the most memory in use so far, the sum over all processes."""


Watched = TypeVar("Watched", bound=Trains)
Seen = TypeVar("Seen", contravariant=True)


@dataclass(frozen=True, slots=True)
class Progress:
    """The work of a training so far, and the time of its own that it took."""

    done: Training
    seconds: float

    @property
    def steps_per_s(self) -> float:
        return self.done.steps / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Every:
    """An interval of `n` steps or episodes."""

    n: int
    per: Per = "step"

    def __post_init__(self) -> None:
        if self.n < 1:
            raise SettingError(f"something happens every 1 {self.per} or more, not every {self.n}.")
        if self.per not in PERS:
            raise SettingError(f"something happens every n steps or episodes, not {self.per!r}.")

    def count(self, done: Training) -> int:
        return done.steps if self.per == "step" else done.episodes

    def least_steps_until_due(self, done: Training) -> int:
        """Return the least steps until it is due. An episode has at least one step, so this never
        leads past the moment."""
        return self.n - self.count(done) % self.n

    def is_due(self, before: Training, done: Training) -> bool:
        return self.count(done) // self.n > self.count(before) // self.n


class Hook(Protocol[Seen]):
    """Something done every so often, between legs; one that returns True ends the training."""

    @property
    def every(self) -> Every: ...

    def __call__(self, progress: Progress, runtime: Seen) -> bool | None: ...


def run(
    runtime: Watched,
    n_steps: int,
    *,
    hooks: Sequence[Hook[Watched]] = (),
    tick: Tick | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Progress:
    """Train for `n_steps` steps; call each hook when it is due, on the spot.

    It may end earlier, where a hook returns True.
    """
    check_count("steps", n_steps)
    progress = Progress(Training(0, 0, 0.0), 0.0)
    while (left := n_steps - progress.done.steps) > 0:
        before = progress.done
        leg = min([left, *(hook.every.least_steps_until_due(before) for hook in hooks)])
        begin = clock()
        trained = runtime.train(leg, _from(before.steps, tick))
        progress = Progress(before + trained, progress.seconds + clock() - begin)
        if call_due(hooks, before, progress, runtime):
            break
    return progress


def call_due(
    hooks: Sequence[Hook[Seen]], before: Training, progress: Progress, runtime: Seen
) -> bool:
    """Call the hooks that are due, whatever another one decides; return whether one ends it all."""
    due = [hook for hook in hooks if hook.every.is_due(before, progress.done)]
    return True in [hook(progress, runtime) for hook in due]


def _from(n_before: int, tick: Tick | None) -> Tick | None:
    return None if tick is None else lambda n: tick(n_before + n)


@dataclass(frozen=True, slots=True)
class Validation:
    """A hook of `run`: plays `episodes` greedily and hands the outcome to `tell`.

    `env` must not be the one that is trained on. Every time the same games are drawn, so that two
    outcomes differ by what was learned between them.
    """

    every: Every
    env: TabularEnv
    episodes: int
    tell: Callable[[Progress, Evaluation], None]
    seed: int = 0

    def __call__(self, progress: Progress, runtime: Runtime) -> None:
        self.tell(progress, evaluate(runtime.learner(), self.env, self.episodes, seed=self.seed))
