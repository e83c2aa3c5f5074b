"""What ranks send comes back whole, whatever its size, and nothing of an exchange before does."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.errors import WorkerDied
from rl_impls.runtimes.mpi.ppo import Mean, joined


class Done:
    def Test(self):  # noqa: N802
        return True


class TwinComm:
    """Rank 0 of two that send the same. One of the collectives may end as MPICH's do when a rank
    was killed: without an error, and without what that rank had to say."""

    def __init__(self):
        self.loses = None

    def Get_size(self):  # noqa: N802
        return 2

    def Ialltoall(self, own, parts):  # noqa: N802
        self.own = own
        parts[0] = own[0]
        if self.loses != "part":
            parts[1] = own[0]
        return Done()

    def Iallgather(self, mean, means):  # noqa: N802
        means[0] = mean
        if self.loses != "mean":
            means[1] = self.own[1]
        return Done()


def mean_of(comm: Any, array):
    return Mean(comm, array)


def averaged(mean, array):
    mean.start(array)
    mean.hand_on()
    got = np.zeros_like(array)
    mean.finish(got)
    return got


@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_the_mean_of_equal_arrays_is_the_array(size):
    array = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    mean = mean_of(TwinComm(), array)
    for factor in (1.0, -2.0, 3.0):
        np.testing.assert_array_equal(averaged(mean, factor * array), factor * array)


@pytest.mark.parametrize("lost", ["part", "mean"])
def test_gradients_of_a_rank_that_is_gone_are_not_taken_from_an_exchange_before(lost):
    comm = TwinComm()
    mean = mean_of(comm, np.ones(6, np.float32))
    averaged(mean, np.ones(6, np.float32))
    comm.loses = lost
    with pytest.raises(WorkerDied, match="rank 1 ended before its work was done"):
        averaged(mean, np.ones(6, np.float32))


def moments_of(numbers):
    return np.array([[len(numbers), np.mean(numbers), np.var(numbers) * len(numbers)]])


NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=9)


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_joined_moments_are_those_of_all_numbers(parts):
    together = joined([moments_of(part) for part in parts])
    np.testing.assert_allclose(together, moments_of(np.concatenate(parts)), rtol=1e-9, atol=1e-6)
