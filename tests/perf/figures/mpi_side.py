"""A process of `tests.perf.figures.mpi`: a rank of a job, or a serial training for comparison.

It sleeps until it is told what to do: a rank that waits inside MPI would keep a core busy.
"""

import sys
from multiprocessing.connection import Client
from typing import Any, NamedTuple

from rl_impls.commands.train_mpi import rank_seed
from rl_impls.mpi.sync import MpiSyncRuntime, Traffic
from rl_impls.mpi.world import world
from rl_impls.runtimes import SerialRuntime
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.evaluate import evaluate
from tests.rl_impls.runtimes.games import tictactoe

GAMES = 10_000


class Order(NamedTuple):
    n_steps: int  # of all ranks together
    seed: int | None = None  # train a new learner, and play with it; None: go on with the last one
    compression: str = "float16"


class Done(NamedTuple):
    traffic: Traffic | None  # None: serial
    win_rate: float = 0.0
    loss_rate: float = 0.0


class Side:
    """What an order is carried out on."""

    def __init__(self, comm: Any, number: int) -> None:
        self._comm, self._number = comm, number
        self._begin(Order(0, number))

    def _begin(self, order: Order) -> None:
        seed = rank_seed(order.seed or 0, self._number, 0)
        env = tictactoe(seed=seed)
        self._learner = CompiledQLearning(env.n_states, env.n_actions, seed=seed)
        self._runtime: MpiSyncRuntime | SerialRuntime = (
            SerialRuntime(self._learner, env)
            if self._comm is None
            else MpiSyncRuntime(self._learner, env, self._comm, compression=order.compression)
        )

    def carry_out(self, order: Order) -> Done:
        if order.seed is not None:
            self._begin(order)
        runtime = self._runtime
        runtime.train(order.n_steps)
        done = Done(runtime.traffic() if isinstance(runtime, MpiSyncRuntime) else None)
        if order.seed is None:
            return done
        played = evaluate(self._learner, tictactoe(seed=0), GAMES)
        return done._replace(win_rate=played.win_rate, loss_rate=played.loss_rate)


def main(address: str, kind: str, number: str) -> None:
    comm = world() if kind == "mpi" else None
    rank = int(number) if comm is None else comm.Get_rank()
    side = Side(comm, rank)
    with Client(address, "AF_UNIX") as pipe:
        pipe.send(rank)
        while order := pipe.recv():
            pipe.send(side.carry_out(order))


if __name__ == "__main__":
    main(*sys.argv[1:])
