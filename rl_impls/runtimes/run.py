"""A whole training: legs of steps, and between them what is done every so often.

The clock runs while the runtime trains and stands still between the legs: validating, logging and
monitoring are no part of the throughput.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rl_impls.errors import SettingError
from rl_impls.runtimes.runtime import Tick, Trains
from rl_impls.schedules import PERS, Per
from rl_impls.tabular.training import Training, check_count

Watched = TypeVar("Watched", bound=Trains)
Seen = TypeVar("Seen", contravariant=True)


@dataclass(frozen=True, slots=True)
class Progress:
    """What a training has done so far, in how much time of its own."""

    done: Training
    seconds: float

    @property
    def steps_per_s(self) -> float:
        return self.done.steps / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Every:
    """After each `n` steps or episodes."""

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
        """An episode has at least one step, so this never leads past the moment."""
        return self.n - self.count(done) % self.n

    def is_due(self, before: Training, done: Training) -> bool:
        return self.count(done) // self.n > self.count(before) // self.n


class Hook(Protocol[Seen]):
    """Something done between legs."""

    @property
    def every(self) -> Every: ...

    def __call__(self, progress: Progress, runtime: Seen) -> None: ...


def run(
    runtime: Watched,
    n_steps: int,
    *,
    hooks: Sequence[Hook[Watched]] = (),
    tick: Tick | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Progress:
    """Train for `n_steps` steps; call each hook when it is due, on the spot."""
    check_count("steps", n_steps)
    progress = Progress(Training(0, 0, 0.0), 0.0)
    while (left := n_steps - progress.done.steps) > 0:
        before = progress.done
        leg = min([left, *(hook.every.least_steps_until_due(before) for hook in hooks)])
        begin = clock()
        trained = runtime.train(leg, _from(before.steps, tick))
        progress = Progress(before + trained, progress.seconds + clock() - begin)
        for hook in hooks:
            if hook.every.is_due(before, progress.done):
                hook(progress, runtime)
    return progress


def _from(n_before: int, tick: Tick | None) -> Tick | None:
    return None if tick is None else lambda n: tick(n_before + n)
