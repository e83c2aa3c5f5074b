"""`python -m tests.evidence.figures.pipeline burning|cheap [ROUNDS [STEPS]]`: two processes or one.

Both do the same steps and the same updates of a DQN on CartPole. Each round has a seed and runs
them in random order, each from an agent of its own. `burning` is an environment that burns a set
time of CPU a step, with an agent that takes as long to learn from it; `cheap` one that costs next
to nothing, with a small agent. The time is that of training; what is compiled or started before it
is left out on both sides.

Learning is checked by the mean return of the episodes that ended in the last third of the training,
exploration included, and by 100 greedy episodes afterwards, with the weights that did best in 20
others: validating is part of the work on both sides. A return is that of CartPole-v1, the number of
steps. Beside both stands the difference that two processes make, with its 95 % interval over the
seeds.
"""

import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import sqrt
from statistics import mean, median, stdev
from typing import Any, NamedTuple

import numpy as np

from pytest_rlperf.stats.estimate import t_quantile
from rl_impls.agents.agent import Agent, shape_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.evaluation import BestCheckpoint, evaluate
from rl_impls.envs.control.make import make_batch
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from rl_impls.runtimes.actor_learner.train import train
from rl_impls.runtimes.deep import DeepRuntime, Validate
from rl_impls.runtimes.machine import cap_threads
from rl_impls.runtimes.processes import NamelessMemory
from tests.evidence.figures.machine import circumstances

CARTPOLE = "rl_impls/CartPole-v1"
EPISODES, EPISODES_TO_VALIDATE = 100, 20
# An update a step. That of the larger one takes about as long as a step burns.
LARGE = DQNSettings(
    hidden=(128, 128), batch=64, learning_rate=3e-4, update_every=1, target_every=200,
    buffer=50_000, epsilon_over=5_000,
)  # fmt: skip
SMALL = replace(LARGE, hidden=(64, 64), batch=32)
PIPELINE = PipelineSettings(
    capacity=256, batch_rows=64, stage_rows=16, publish_interval=16, sync_interval=4
)


class Case(NamedTuple):
    title: str
    burn_s: float
    settings: DQNSettings
    n_steps: int
    validate_every: int  # steps


CASES = {
    "burning": Case("200 µs a step", 200e-6, LARGE, 30_000, 1_500),
    "cheap": Case("next to nothing a step", 0.0, SMALL, 24_000, 2_000),
}


class Returns:
    """Of episodes that ended after a given step, for whoever has the memory."""

    def __init__(self, after: int, memory: NamelessMemory | None = None) -> None:
        self._after = after
        self._memory = memory or NamelessMemory(16)
        self._sums = np.frombuffer(self._memory.buffer, np.float64, 2)

    def __reduce__(self) -> tuple[Any, ...]:
        return Returns, (self._after, self._memory)

    def add(self, n_steps: int, gained: int) -> None:
        if n_steps > self._after:
            self._sums += (1, gained)

    def mean(self) -> float:
        n, total = self._sums
        return float(total / n) if n else float("nan")


class Burning:
    """One environment of which each step burns time of the CPU it runs on."""

    def __init__(self, burn_s: float, returns: Returns, *, seed: int | None) -> None:
        # Values between -1 and 0 are learned in fewer steps than those up to 100.
        self._batch = make_batch(CARTPOLE, 1, seed=seed, sutton_barto_reward=True)
        self._burn_s, self._returns = burn_s, returns
        self._n_steps = self._began_at = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def reset(self, seed: int | None = None) -> Any:
        self._n_steps = self._began_at = 0
        return self._batch.reset(seed)

    def step(self, actions: Any) -> Any:
        end = time.thread_time() + self._burn_s
        while time.thread_time() < end:
            pass
        step = self._batch.step(actions)
        self._n_steps += 1
        if step.terminated[0] or step.truncated[0]:
            self._returns.add(self._n_steps, self._n_steps - self._began_at)
            self._began_at = self._n_steps
        return step


class Done(NamedTuple):
    steps_per_s: float
    updates: int
    late_return: float  # of episodes while training
    greedy_return: float


def alone(case: Case, seed: int) -> Done:
    returns, best = Returns(2 * case.n_steps // 3), BestCheckpoint(_validated)
    env = Burning(case.burn_s, returns, seed=seed)
    agent = DQN(shape_of(env), case.settings, seed=seed)

    with cap_threads(1):
        runtime = DeepRuntime(agent, env)
        begin = time.perf_counter()
        run(runtime, case.n_steps, hooks=[Validate(Every(case.validate_every), best)])
        seconds = time.perf_counter() - begin
    best.restore_best(agent)
    return Done(case.n_steps / seconds, agent.updates_made, returns.mean(), _played(agent))


def in_two(case: Case, seed: int) -> Done:
    returns, best = Returns(2 * case.n_steps // 3), BestCheckpoint(_validated)
    make_env = partial(Burning, case.burn_s, returns)
    agent = DQN(shape_of(make_env(seed=0)), case.settings, seed=seed)
    pipeline = replace(PIPELINE, report_every=case.validate_every)
    trained = train(
        agent, make_env, case.n_steps, pipeline, seed=seed, tell=lambda _: best.judge(agent)
    )
    best.restore_best(agent)
    speed = trained.steps / trained.seconds
    return Done(speed, agent.updates_made, returns.mean(), _played(agent))


def _played(agent: DQN) -> float:
    return float(evaluate(agent, CARTPOLE, EPISODES).mean())


def _validated(agent: Agent) -> float:
    return float(evaluate(agent, CARTPOLE, EPISODES_TO_VALIDATE, seed=1).mean())


ONE, TWO = "one process", "actor and learner"
WAYS = {ONE: alone, TWO: in_two}


def measure(case: Case, n_rounds: int) -> list[dict[str, Done]]:
    rounds = []
    for seed in range(n_rounds):
        order = random.sample(list(WAYS), len(WAYS))
        rounds.append({name: WAYS[name](case, seed) for name in order})
        assert len({done.updates for done in rounds[-1].values()}) == 1, "the work differs"
    return rounds


def render(case: Case, rounds: list[dict[str, Done]]) -> str:
    lines = [
        f"{case.title}, {case.n_steps:,} steps, {rounds[0][ONE].updates:,} updates, "
        f"{len(rounds)} seeds"
    ]
    for name in WAYS:
        speeds = [done[name].steps_per_s for done in rounds]
        lines.append(f"  {name:20}{median(speeds):>9,.0f} steps/s {quartiles(speeds, ',.0f')}")
    ratios = [done[TWO].steps_per_s / done[ONE].steps_per_s for done in rounds]
    lines.append(f"  {TWO} / {ONE}: {median(ratios):.2f} {quartiles(ratios, '.2f')}")
    return "\n".join(lines)


def quartiles(values: Sequence[float], form: str) -> str:
    values = sorted(values)
    n = len(values) // 4
    return f"({values[n]:{form}}, {values[-1 - n]:{form}})"


def render_learning(rounds: list[dict[str, Done]]) -> str:
    lines = []
    for what in ("late_return", "greedy_return"):
        one, two = ([getattr(done[name], what) for done in rounds] for name in (ONE, TWO))
        for name, values in ((ONE, one), (TWO, two)):
            each = ", ".join(f"{value:.0f}" for value in values)
            lines.append(f"  {what:14} {name:20}{mean(values):>6.0f}: {each}")
        lines.append(f"  {what:14} {difference(one, two)}")
    return "\n".join(lines)


def difference(one: Sequence[float], two: Sequence[float]) -> str:
    """By Student's t over the seeds."""
    by_seed = [b - a for a, b in zip(one, two, strict=True)]
    if len(by_seed) < 2:
        return "one seed tells nothing of a difference"
    half = t_quantile(0.975, len(by_seed) - 1) * stdev(by_seed) / sqrt(len(by_seed))
    middle = mean(by_seed)
    return f"difference {middle:+.0f}, 95 % interval {middle - half:+.0f} to {middle + half:+.0f}"


def main(argv: list[str]) -> None:
    name = argv[0]
    case, n_rounds = CASES[name], int(argv[1]) if argv[1:] else 10
    if argv[2:]:
        case = case._replace(n_steps=int(argv[2]))
    command = f"python -m tests.evidence.figures.pipeline {name} {n_rounds}"
    print(f"{circumstances()}\n{command}; (quartiles)")
    alone(case._replace(burn_s=0.0, n_steps=case.settings.learning_starts + 1), 0)  # compiles
    rounds = measure(case, n_rounds)
    print(render(case, rounds), render_learning(rounds), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
