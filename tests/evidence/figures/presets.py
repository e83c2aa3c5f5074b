"""`python -m tests.evidence.figures.presets [ROUNDS [STEPS [apart]]]`: presets side by side.

Both do the same steps with the same number of actors, and learn from as many rows: "optimised" from
more at once. Each round trains an agent of its own by either, in random order and from the same
seed. The experience rate is that of
rows that reached the replay. Learning is checked: the mean return of the episodes in the last
quarter of the training, and of greedy episodes afterwards, stand beside it. It is done with few
updates and with more: where the learner is what takes the time, no transport makes it faster. With
the word `apart` and few updates, "original" also has one setting at a time as "optimised" has it.
"""

import random
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from statistics import median
from typing import NamedTuple

from rl_impls.agents.agent import shape_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.evaluation import evaluate
from rl_impls.envs.control.make import make_batch
from rl_impls.runtimes.actor_learner.learner import Learner
from rl_impls.runtimes.actor_learner.train import Trained, train
from rl_impls.runtimes.run import Every, Progress
from tests.evidence.figures.first_pipeline import (
    PRESETS,
    FirstSettings,
    FirstTransport,
    PipelinePreset,
)
from tests.evidence.figures.machine import circumstances
from tests.evidence.figures.pipeline import difference

CARTPOLE = "rl_impls/CartPole-v1"
N_STEPS = 100_000
N_ACTORS = 2
EPISODES = 100
# Steps an update.
FEW_UPDATES, MORE_UPDATES = 16, 4
ORIGINAL, OPTIMISED = "original", "optimised"

Ways = Mapping[str, PipelinePreset]

make_env = partial(make_batch, CARTPOLE, 1)


def presets() -> Ways:
    return {
        name: replace(preset, pipeline=replace(preset.pipeline, actors=N_ACTORS))
        for name, preset in PRESETS.items()
    }


def one_at_a_time() -> Ways:
    """ "original" with each setting in which it differs as the other has it."""
    original, optimised = (presets()[name] for name in (ORIGINAL, OPTIMISED))
    news = {each.name: getattr(optimised.pipeline, each.name) for each in fields(FirstSettings)}
    batches = optimised.batches_an_update
    return {
        f"batches_an_update={batches}": replace(original, batches_an_update=batches),
        **{
            f"{name}={value}": replace(
                original, pipeline=replace(original.pipeline, **{name: value})
            )
            for name, value in news.items()
            if getattr(original.pipeline, name) != value
        },
    }


def settings_of(update_every: int) -> DQNSettings:
    return DQNSettings(
        learning_rate=1e-3, batch=64, buffer=50_000, update_every=update_every, target_every=500,
        epsilon_over=10_000,
    )  # fmt: skip


class Done(NamedTuple):
    trained: Trained
    rows_an_update: int
    late_return: float
    greedy_return: float

    @property
    def rows_per_s(self) -> float:
        return self.trained.steps / self.trained.seconds

    @property
    def rows_learned(self) -> int:
        return self.trained.updates * self.rows_an_update

    @property
    def blocked_s_per_million(self) -> float:
        return self.trained.blocked_s / self.trained.steps * 1e6


class Late:
    """A hook: what had been gained after each quarter."""

    def __init__(self, n_steps: int) -> None:
        self.every = Every(-(-n_steps // 4))
        self._seen = [(0, 0.0)]

    def __call__(self, progress: Progress, runtime: Learner) -> None:
        self._seen.append((progress.done.episodes, progress.done.reward_sum))

    def mean_return(self) -> float:
        """Of the episodes that ended between the last two looks."""
        (n_before, before), (n, gained) = ([(0, 0.0), *self._seen])[-2:]
        return (gained - before) / max(1, n - n_before)


def trained_by(preset: PipelinePreset, update_every: int, n_steps: int, seed: int) -> Done:
    settings = preset.learner(settings_of(update_every))
    agent = DQN(shape_of(make_env(seed=0)), settings, seed=seed)
    late = Late(n_steps)
    trained = train(
        agent, make_env, n_steps, preset.pipeline, seed=seed, hooks=[late], transport=FirstTransport
    )
    greedy = float(evaluate(agent, CARTPOLE, EPISODES).mean())
    return Done(trained, settings.batch, late.mean_return(), greedy)


def measure(ways: Ways, update_every: int, n_steps: int, n_rounds: int) -> list[dict[str, Done]]:
    rounds = []
    for seed in range(n_rounds):
        order = random.sample(list(ways), len(ways))
        done = {name: trained_by(ways[name], update_every, n_steps, seed) for name in order}
        require_equal_work(list(done.values()))
        rounds.append({name: done[name] for name in ways})
    return rounds


def require_equal_work(done: list[Done]) -> None:
    """As many steps, and as many rows learned from, but for what an update takes at the end."""
    assert len({each.trained.steps for each in done}) == 1, "the steps differ"
    learned = [each.rows_learned for each in done]
    most = max(each.rows_an_update for each in done)
    assert max(learned) - min(learned) <= most, f"the work differs: {learned}"


def spread(values: list[float], digits: int = 0) -> str:
    """The median, and the quartiles in brackets."""
    values = sorted(values)
    low, high = values[len(values) // 4], values[-1 - len(values) // 4]
    return f"{median(values):,.{digits}f} ({low:,.{digits}f}, {high:,.{digits}f})"


def render(rounds: list[dict[str, Done]]) -> str:
    work = rounds[0][ORIGINAL].trained
    learned = rounds[0][ORIGINAL].rows_learned
    lines = [f"{work.steps:,} steps, {learned:,} rows learned from, n = {len(rounds)}"]
    for name in rounds[0]:
        done = [each[name] for each in rounds]
        ratios = [each[name].rows_per_s / each[ORIGINAL].rows_per_s for each in rounds]
        lines.append(
            f"  {name:20} {done[0].trained.updates:,} updates; "
            f"rows/s {spread([each.rows_per_s for each in done])}, "
            f"{spread(ratios, 2)} of {ORIGINAL}'s; "
            f"return late {spread([each.late_return for each in done])}, "
            f"greedy {spread([each.greedy_return for each in done])}; "
            f"blocked {spread([each.blocked_s_per_million for each in done], 1)} s a million; "
            f"lag {spread([each.trained.mean_lag for each in done])}"
        )
    return "\n".join(lines + [f"  {line}" for line in differences(rounds)])


def differences(rounds: list[dict[str, Done]]) -> list[str]:
    """In what was learned, over the seeds."""
    before, after = ([done[name] for done in rounds] for name in (ORIGINAL, OPTIMISED))
    return [
        f"{OPTIMISED} less {ORIGINAL}, {what}: "
        + difference([getattr(d, what) for d in before], [getattr(d, what) for d in after])
        for what in ("late_return", "greedy_return")
    ]


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 9
    n_steps = int(argv[1]) if argv[1:] else N_STEPS
    print(
        f"{circumstances()}\npython -m tests.evidence.figures.presets {' '.join(argv)}: DQN on "
        f"CartPole, {N_ACTORS} actors and a learner; medians (quartiles)"
    )
    trained_by(presets()[OPTIMISED], FEW_UPDATES, 2_000, 0)  # compiles
    few = {**presets(), **(one_at_a_time() if "apart" in argv else {})}
    for ways, update_every in ((few, FEW_UPDATES), (presets(), MORE_UPDATES)):
        print(render(measure(ways, update_every, n_steps, n_rounds)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
