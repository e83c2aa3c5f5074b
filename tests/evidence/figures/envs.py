"""`python -m tests.evidence.figures.envs [ROUNDS]`: compiled environments beside Gymnasium's.

Every round runs all contestants once, in random order, with random actions drawn beforehand; a
ratio is the median over rounds of the ratio inside a round, so that a slow minute hits both sides.
"""

import random
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import gymnasium
import numpy as np

from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.reactor import reactor
from tests.evidence.figures.machine import circumstances

N_ENVS = 1024
N_BATCHED = 1_000 * N_ENVS
N_SINGLE = 10_000
# Held at its set point, so that both sides play the same episode. Ten of them.
N_REACTORS = 256
N_REACTOR_STEPS = 299
# Name of the ratio, its two sides, and what is wanted of it.
RATIOS = (
    ("CartPole / gymnasium.make", "CartPole, batch", "Gymnasium CartPole", "wanted: 100"),
    ("CartPole / bare", "CartPole, batch", "Gymnasium CartPole, bare", ""),
    ("CartPole / their vector", "CartPole, batch", "Gymnasium CartPole, vector", ""),
    ("Pendulum / gymnasium.make", "Pendulum, batch", "Gymnasium Pendulum", ""),
)


def random_actions(n_actions: int, size: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(0)
    if n_actions:
        return rng.integers(n_actions, size=size)
    return rng.uniform(-2, 2, (*size, 1)).astype(np.float32)


def run_batch(name: str) -> float:
    """Steps a second of CPU time, resets included."""
    batch = make_batch(name, N_ENVS, seed=0)
    actions = random_actions(batch.n_actions, (20, N_ENVS))
    n_rounds = N_BATCHED // N_ENVS
    batch.step(actions[0])  # compiled, or read from the cache
    begin = time.process_time()
    for i in range(n_rounds):
        batch.step(actions[i % 20])
    return n_rounds * N_ENVS / (time.process_time() - begin)


def run_single(env: Any, n_actions: int) -> float:
    actions = list(random_actions(n_actions, (N_SINGLE,)))
    env.reset(seed=0)
    begin = time.process_time()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return N_SINGLE / (time.process_time() - begin)


def run_vector(name: str) -> float:
    env = gymnasium.make_vec(name, N_ENVS, vectorization_mode="vector_entry_point")
    actions = random_actions(2, (100, N_ENVS))
    env.reset(seed=0)
    begin = time.process_time()
    for action in actions:
        env.step(action)
    return len(actions) * N_ENVS / (time.process_time() - begin)


def reactor_actions() -> Any:
    batch = CompiledBatch(reactor(), N_REACTORS, seed=0)
    actions = np.zeros((N_REACTOR_STEPS, N_REACTORS, 2), np.float32)
    for a_t in actions:
        a_t[:, 0] = np.clip(0.2 * (batch.obs[:, 1] - 350), -1, 1)
        batch.step(a_t)
    return actions


def run_reactors(actions: Any, *, constraints: bool) -> float:
    batch = CompiledBatch(reactor(constraints=constraints), N_REACTORS, seed=0)
    seconds = 0.0
    for _ in range(4):
        batch.reset(0)
        begin = time.process_time()
        for a_t in actions:
            batch.step(a_t)
        seconds += time.process_time() - begin
    return 4 * len(actions) * N_REACTORS / seconds


def run_reactor(actions: Any, *, constraints: bool) -> float:
    env = gymnasium.make("ChemicalReactor-v0", constraints=constraints)
    seconds = 0.0
    for _ in range(10):
        env.reset(seed=0)
        begin = time.process_time()
        for action in actions[:, 0]:
            env.step(action)
        seconds += time.process_time() - begin
    return 10 * len(actions) / seconds


def contestants() -> dict[str, Callable[[], float]]:
    actions = reactor_actions()
    bare = gymnasium.make("CartPole-v1").unwrapped
    return {
        "CartPole, batch": partial(run_batch, "rl_impls/CartPole-v1"),
        "Pendulum, batch": partial(run_batch, "rl_impls/Pendulum-v1"),
        "Gymnasium CartPole": lambda: run_single(gymnasium.make("CartPole-v1"), 2),
        "Gymnasium CartPole, bare": lambda: run_single(bare, 2),
        "Gymnasium CartPole, vector": lambda: run_vector("CartPole-v1"),
        "Gymnasium Pendulum": lambda: run_single(gymnasium.make("Pendulum-v1"), 0),
        "reactor, batch": lambda: run_reactors(actions, constraints=True),
        "reactor, batch, unchecked": lambda: run_reactors(actions, constraints=False),
        "reactor": lambda: run_reactor(actions, constraints=True),
        "reactor, unchecked": lambda: run_reactor(actions, constraints=False),
    }


def measure(runs: dict[str, Callable[[], float]], n_rounds: int) -> list[dict[str, float]]:
    """Steps a second of each, round by round."""
    return [
        {name: runs[name]() for name in random.sample(sorted(runs), len(runs))}
        for _ in range(n_rounds)
    ]


def render(rounds: list[dict[str, float]]) -> str:
    text = [f"{'':28}{'steps/s':>14}{'a step':>12}"]
    for name in rounds[0]:
        speed = median(done[name] for done in rounds)
        text.append(f"{name:28}{speed:>14,.0f}{1e6 / speed:>9.3f} µs")
    for name, top, bottom, note in RATIOS:
        ratios = [done[top] / done[bottom] for done in rounds]
        text.append(f"{name:28}{median(ratios):>14.3g}   {_range(ratios, '.3g')} {note}".rstrip())
    for name in ("reactor, batch", "reactor"):
        overhead = [100 * (done[f"{name}, unchecked"] / done[name] - 1) for done in rounds]
        spread = _range(overhead, "+.1f")
        text.append(
            f"{name + ': checks':28}{median(overhead):>+13.1f}%   {spread} wanted: below 10"
        )
    return "\n".join(text)


def _range(values: list[float], style: str) -> str:
    return f"({min(values):{style}} to {max(values):{style}})"


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 7
    print(
        f"{circumstances()}, gymnasium {gymnasium.__version__}\n"
        f"python -m tests.evidence.figures.envs {n_rounds}: medians of {n_rounds} rounds, "
        f"CPU time, one core, batches of {N_ENVS:,} ({N_REACTORS} reactors)"
    )
    runs = contestants()
    print(render([dict(sorted(done.items())) for done in measure(runs, n_rounds)]))


if __name__ == "__main__":
    main(sys.argv[1:])
