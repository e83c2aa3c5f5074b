"""`python -m tests.rl_impls.tabular.crossover`: from which sizes on an array beats lists.

The two numbers it prints last are the constants of rl_impls/tabular/optimal.py.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import numpy as np

from rl_impls.tabular import ListQLearning, NumpyQLearning, QLearner
from rl_impls.tabular.training import TableTransitions

SIZES = (2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
N_ROUNDS = 15
N_STATES = 20_000
N_ACTIONS = 9


def random_transitions(n: int, n_actions: int) -> TableTransitions:
    rng = np.random.default_rng(0)
    return TableTransitions(
        rng.integers(N_STATES, size=n),
        rng.integers(n_actions, size=n),
        rng.random(n, dtype=np.float32),
        rng.integers(N_STATES, size=n),
        rng.random(n) < 0.2,
    )


def step_by_step(learner: QLearner, batch: TableTransitions) -> None:
    columns = (batch.s_tm1, batch.a_tm1, batch.r_t, batch.s_t, batch.terminated)
    for s_tm1, a_tm1, r_t, s_t, terminated in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        learner.greedy(s_tm1)
        learner.learn(s_tm1, a_tm1, r_t, s_t, terminated=terminated)


def times_of_steps(n_actions: int) -> tuple[float, float]:
    batch = random_transitions(300, n_actions)
    learners = [kind(N_STATES, n_actions) for kind in (ListQLearning, NumpyQLearning)]
    return _medians([partial(step_by_step, learner, batch) for learner in learners])


def times_of_batches(n_rows: int) -> tuple[float, float]:
    batch = random_transitions(n_rows, N_ACTIONS)
    learners = [kind(N_STATES, N_ACTIONS) for kind in (ListQLearning, NumpyQLearning)]
    return _medians([partial(learner.learn_batch, batch) for learner in learners])


def _medians(functions: Sequence[Callable[[], None]]) -> tuple[float, float]:
    """Medians of CPU time, the two taking turns."""
    spent: list[list[float]] = [[], []]
    for _ in range(N_ROUNDS):
        for function, times in zip(functions, spent, strict=True):
            begin = time.process_time_ns()
            function()
            times.append((time.process_time_ns() - begin) / 1000)
    return median(spent[0]), median(spent[1])


def crossover(what: str, times_of: Callable[[int], tuple[float, float]]) -> int:
    """The least size from which on the array stays ahead."""
    ahead = SIZES[-1]
    still = True
    measured = {size: times_of(size) for size in SIZES}
    for size in reversed(SIZES):
        on_lists, on_array = measured[size]
        still = still and on_array < on_lists
        ahead = size if still else ahead
    for size, (on_lists, on_array) in measured.items():
        print(f"{size:4} {what}: lists {on_lists:9.1f} µs, array {on_array:9.1f} µs")
    return ahead


if __name__ == "__main__":
    actions = crossover("actions", times_of_steps)
    rows = crossover("rows", times_of_batches)
    print(f"ACTIONS_FOR_NUMPY = {actions}\nROWS_FOR_NUMPY = {rows}")
