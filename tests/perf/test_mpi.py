"""What distributed training spends its time on between two updates, in ranks of their own."""

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_rlperf.fixtures import RlperfMpi

PARAMETERS = 100_000
ROUNDS = 20
"""Exchanges a call: so many that a slice is not all barrier."""

pytestmark = pytest.mark.rlperf_mpi(nprocs=[1, 2], timeout=30, category="mpi", scaling="weak")


def average_gradients(comm, gradients: NDArray[np.float64], total: NDArray[np.float64]) -> None:
    """As data-parallel learners do after every batch."""
    for _ in range(ROUNDS):
        comm.Allreduce(gradients, total)
        total /= comm.Get_size()


def send_weights(comm, weights: NDArray[np.float64]) -> None:
    """From the learner, rank 0, to its actors."""
    for _ in range(ROUNDS):
        comm.Bcast(weights, root=0)


def test_average_of_gradients(rlperf_mpi: RlperfMpi):
    gradients = np.full(PARAMETERS, float(rlperf_mpi.rank))
    total = np.empty_like(gradients)
    rlperf_mpi(average_gradients, rlperf_mpi.comm, gradients, total)
    rlperf_mpi.rank_assert(np.all(total == (rlperf_mpi.size - 1) / 2))


def test_broadcast_of_weights(rlperf_mpi: RlperfMpi):
    weights = np.arange(PARAMETERS, dtype=np.float64) if rlperf_mpi.rank == 0 else None
    received = np.empty(PARAMETERS) if weights is None else weights
    rlperf_mpi(send_weights, rlperf_mpi.comm, received)
    rlperf_mpi.rank_assert(received[-1] == PARAMETERS - 1)
