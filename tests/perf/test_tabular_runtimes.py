"""The runtimes on tic-tac-toe: one process, and two that merge what they learn.

The two live from before the first call to after the last, so that a call is training alone.
"""

from functools import partial

import pytest

from rl_impls.envs.games import rules
from rl_impls.envs.tabular import make_tabular
from rl_impls.runtimes import SerialRuntime
from rl_impls.runtimes.parallel import ParallelRuntime
from rl_impls.tabular import LEARNERS, QLearner

tictactoe = partial(make_tabular, "TicTacToe-v0")
# About 10 ms a call each, of one process.
STEPS = {"list": 2_000, "compiled": 300_000}


def player(name: str) -> QLearner:
    return LEARNERS[name](rules().n_states, rules().n_actions, seed=0)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.rlperf(category="runtimes")
def test_serial_training(rlperf, name):
    n_steps = STEPS[name]
    runtime = SerialRuntime(player(name), tictactoe(seed=0))
    training = rlperf.measure(lambda: runtime.train(n_steps), steps=n_steps)
    assert training.steps == n_steps


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.rlperf(category="runtimes")
def test_parallel_training_in_two_processes(rlperf, name):
    n_steps = 2 * STEPS[name]
    with ParallelRuntime(player(name), tictactoe, processes=2, seed=0) as runtime:
        training = rlperf.measure(lambda: runtime.train(n_steps), steps=n_steps)
    assert training.steps == n_steps
