"""`python -m tests.perf.figures.pipeline [ROUNDS [STEPS]]`: two processes beside one.

Both do the same steps and the same updates. Each round runs them in random order, each from an
agent of its own, on an environment that burns a set time of CPU a step and on one that costs next
to nothing. Learning is checked: the mean length of episodes while training (long ones are good) and
the mean return of greedy episodes afterwards stand beside each speed. The time is that of training;
what is compiled or started before it is left out on both sides.
"""

import random
import sys
import time
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from rl_impls.agents.agent import shape_of
from rl_impls.agents.evaluation import evaluate
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.agents.training import train as train_in_one
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import Step
from rl_impls.pipeline.actor_learner import train
from rl_impls.pipeline.settings import PipelineSettings
from rl_impls.runtimes.placement import cap_threads
from tests.perf.figures.machine import circumstances

CARTPOLE = "rl_impls/CartPole-v1"
N_STEPS = 20_000
EPISODES = 30
BURN_S = 200e-6
# An update takes about as long as the steps it belongs to take to burn.
SETTINGS = QRDQNSettings(
    learning_rate=1e-3, target_every=250, n_quantiles=20, batch=256, update_every=2,
    epsilon_over=5_000,
)  # fmt: skip
PIPELINE = PipelineSettings(
    capacity=256, batch_rows=64, stage_rows=16, publish_interval=16, sync_interval=4
)


class Burning:
    """A batch of which each step burns time of the CPU it runs on."""

    def __init__(self, batch: Any, burn_s: float) -> None:
        self._batch, self._burn_s = batch, burn_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def step(self, actions: Any) -> Any:
        end = time.thread_time() + self._burn_s
        while time.thread_time() < end:
            pass
        return self._batch.step(actions)


def burning(burn_s: float, *, seed: int | None) -> Any:
    batch = make_batch(CARTPOLE, 1, seed=seed)
    return Burning(batch, burn_s) if burn_s else batch


class Done(NamedTuple):
    steps_per_s: float
    updates: int
    episode_steps: float  # the mean while training, exploration included
    mean_return: float


def alone(burn_s: float, n_steps: int, seed: int) -> Done:
    env = burning(burn_s, seed=seed)
    agent = QRDQN(shape_of(env), SETTINGS, seed=seed)
    ends: list[int] = []

    def count(agent: Any, step: Step) -> bool:
        ends.append(int((step.terminated | step.truncated).sum()))
        return False

    with cap_threads(1):
        begin = time.perf_counter()
        train_in_one(agent, env, n_steps, hooks=[count])
        seconds = time.perf_counter() - begin
    return Done(n_steps / seconds, agent.updates_made, n_steps / max(1, sum(ends)), _played(agent))


def in_two(burn_s: float, n_steps: int, seed: int) -> Done:
    make_env = partial(burning, burn_s)
    agent = QRDQN(shape_of(make_env(seed=0)), SETTINGS, seed=seed)
    trained = train(agent, make_env, n_steps, PIPELINE, seed=seed)
    episode_steps = trained.steps / max(1, trained.episodes)
    return Done(trained.steps / trained.seconds, agent.updates_made, episode_steps, _played(agent))


def _played(agent: QRDQN) -> float:
    return float(evaluate(agent, CARTPOLE, EPISODES).mean())


WAYS = {"one process": alone, "actor and learner": in_two}


def measure(burn_s: float, n_steps: int, n_rounds: int) -> list[dict[str, Done]]:
    rounds = []
    for seed in range(n_rounds):
        order = random.sample(list(WAYS), len(WAYS))
        rounds.append({name: WAYS[name](burn_s, n_steps, seed) for name in order})
        assert len({done.updates for done in rounds[-1].values()}) == 1, "the work differs"
    return rounds


def render(burn_s: float, n_steps: int, rounds: list[dict[str, Done]]) -> str:
    updates = rounds[0]["one process"].updates
    lines = [
        f"{burn_s * 1e6:.0f} µs a step, {n_steps:,} steps, {updates:,} updates, "
        f"{len(rounds)} rounds"
    ]
    for name in WAYS:
        speed = median(done[name].steps_per_s for done in rounds)
        lengths = ", ".join(f"{done[name].episode_steps:.0f}" for done in rounds)
        returns = ", ".join(f"{done[name].mean_return:.0f}" for done in rounds)
        lines.append(
            f"  {name:20}{speed:>9,.0f} steps/s  episodes of {lengths} steps  returns {returns}"
        )
    ratios = sorted(
        done["actor and learner"].steps_per_s / done["one process"].steps_per_s for done in rounds
    )
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    lines.append(f"  actor and learner / one process: {median(ratios):.2f} ({low:.2f}, {high:.2f})")
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 5
    print(f"{circumstances()}\npython -m tests.perf.figures.pipeline {n_rounds}; (quartiles)")
    n_steps = int(argv[1]) if argv[1:] else N_STEPS
    alone(0.0, SETTINGS.learning_starts + 1, 0)  # compiles
    for burn_s in (BURN_S, 0.0):
        print(render(burn_s, n_steps, measure(burn_s, n_steps, n_rounds)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
