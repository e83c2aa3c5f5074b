"""A process of `tests.evidence.figures.mpi`: a rank of a job, or a serial training for comparison.

It sleeps until it is told what to do: a rank that waits inside MPI would keep a core busy.
"""

import sys
from multiprocessing.connection import Client
from typing import Any, NamedTuple

from rl_impls.commands.train_mpi import rank_seed
from rl_impls.runtimes import SerialRuntime
from rl_impls.runtimes.mpi.asynchronous import MpiAsyncRuntime
from rl_impls.runtimes.mpi.runtime import MpiRuntime, Traffic
from rl_impls.runtimes.mpi.sync import MpiSyncRuntime
from rl_impls.runtimes.mpi.world import world
from rl_impls.tabular import CompiledQLearning
from rl_impls.tabular.training import evaluate
from tests.rl_impls.runtimes.games import tictactoe

GAMES = 10_000


class Order(NamedTuple):
    n_steps: int  # of all ranks together
    seed: int | None = None  # train a new learner, and play with it; None: go on with the last one
    how: str = "float16"  # of ranks: a compression of mpi-sync, or mpi-async


class Done(NamedTuple):
    traffic: Traffic | None  # None: serial
    win_rate: float = 0.0
    loss_rate: float = 0.0


class Side:
    """What orders are carried out on: a learner and a runtime for each way."""

    def __init__(self, comm: Any, number: int) -> None:
        self._comm, self._number = comm, number
        self._ways: dict[str, tuple[CompiledQLearning, MpiRuntime | SerialRuntime]] = {}

    def carry_out(self, order: Order) -> Done:
        if order.seed is not None or order.how not in self._ways:
            self._begin(order.how, order.seed or 0)
        learner, runtime = self._ways[order.how]
        runtime.train(order.n_steps)
        done = Done(None if isinstance(runtime, SerialRuntime) else runtime.traffic())
        if order.seed is None:
            return done
        played = evaluate(learner, tictactoe(seed=0), GAMES)
        return done._replace(win_rate=played.win_rate, loss_rate=played.loss_rate)

    def close(self) -> None:
        for how in [*self._ways]:
            self._end(how)

    def _begin(self, how: str, seed: int) -> None:
        self._end(how)
        own_seed = rank_seed(seed, self._number, 0)
        env = tictactoe(seed=own_seed)
        learner = CompiledQLearning(env.n_states, env.n_actions, seed=own_seed)
        self._ways[how] = learner, self._runtime(how, learner, env)

    def _runtime(self, how: str, learner: Any, env: Any) -> MpiRuntime | SerialRuntime:
        if self._comm is None:
            return SerialRuntime(learner, env)
        if how == "mpi-async":
            return MpiAsyncRuntime(learner, env, self._comm)
        return MpiSyncRuntime(learner, env, self._comm, compression=how)

    def _end(self, how: str) -> None:
        _, runtime = self._ways.pop(how, (None, None))
        if runtime is not None and not isinstance(runtime, SerialRuntime):
            runtime.close()


def main(address: str, kind: str, number: str) -> None:
    comm = world() if kind == "mpi" else None
    rank = int(number) if comm is None else comm.Get_rank()
    side = Side(comm, rank)
    with Client(address, "AF_UNIX") as pipe:
        pipe.send(rank)
        while order := pipe.recv():
            pipe.send(side.carry_out(order))
    side.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
