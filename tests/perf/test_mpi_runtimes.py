"""Tic-tac-toe in the ranks of an MPI job, which share what they learn while they go on.

The learner lives from before the first call to after the last, so that a call is training alone.
"""

import pytest

from pytest_rlperf.fixtures import RlperfMpi
from rl_impls.envs.tabular import make_tabular
from rl_impls.tabular import CompiledQLearning

# About 25 ms a call, of each rank.
STEPS = 1_000_000

pytestmark = pytest.mark.rlperf_mpi(nprocs=[1, 2], timeout=60, category="mpi", scaling="weak")


def check_training(rlperf_mpi: RlperfMpi, kind) -> None:
    n_steps = STEPS * rlperf_mpi.size
    env = make_tabular("TicTacToe-v0", seed=rlperf_mpi.rank)
    learner = CompiledQLearning(env.n_states, env.n_actions, seed=rlperf_mpi.rank)
    runtime = kind(learner, env, rlperf_mpi.comm)
    training = rlperf_mpi.measure(lambda: runtime.train(n_steps), steps=n_steps)
    rlperf_mpi.rank_assert(training.steps == n_steps)
    runtime.close()


def test_mpi_sync_training(rlperf_mpi: RlperfMpi):
    from rl_impls.runtimes.mpi.sync import MpiSyncRuntime

    check_training(rlperf_mpi, MpiSyncRuntime)


def test_mpi_async_training(rlperf_mpi: RlperfMpi):
    from rl_impls.runtimes.mpi.asynchronous import MpiAsyncRuntime

    check_training(rlperf_mpi, MpiAsyncRuntime)
