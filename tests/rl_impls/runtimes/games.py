"""Environments for the tests of runtimes; workers import them by name."""

import os
import signal
from functools import partial

from rl_impls.envs.games import TicTacToeEnv, rules
from rl_impls.envs.tabular import TabularEnv, make_tabular
from rl_impls.tabular import LEARNERS

TROUBLE_AFTER_STEPS = 5_000

tictactoe = partial(make_tabular, "TicTacToe-v0")


def player(name="list", **arguments):
    return LEARNERS[name](rules().n_states, rules().n_actions, seed=0, **arguments)


class TroubledEnv(TabularEnv):
    """Tic-tac-toe in which something happens to the process after some games."""

    def __init__(self, trouble, seed):
        super().__init__(TicTacToeEnv(), seed=seed)
        self._trouble = trouble
        self._n_steps = 0

    def step(self, action):
        self._n_steps += 1
        if self._n_steps == TROUBLE_AFTER_STEPS:
            self._trouble()
        return super().step(action)


def troubled(trouble, seed):
    return TroubledEnv(trouble, seed)


def be_killed():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


def divide_by_zero():
    return 1 / 0
