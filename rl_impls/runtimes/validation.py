"""How well the table plays while it is being learned, on an environment of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rl_impls.envs.tabular import TabularEnv
from rl_impls.runtimes.run import Every, Progress
from rl_impls.runtimes.runtime import Runtime
from rl_impls.tabular.evaluate import Evaluation, evaluate


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
