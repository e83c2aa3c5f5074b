"""What a sparse table stores, when the frugal learner collects, where a GPU's table lies."""

import gc
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from rl_impls.tabular import GPUQLearning, MemoryOptimizedQLearning, SparseQLearning
from rl_impls.tabular.arrays import COLLECT_EVERY_STEPS
from tests.evidence.figures.memory import (
    ALLOWED_BYTES,
    ALLOWED_PART,
    NAMES,
    dense_bytes,
    peaks_of_training,
    sparse_bytes,
)


def test_a_sparse_table_of_ten_million_states_takes_less_than_a_tenth_of_a_dense_one():
    assert sparse_bytes() < ALLOWED_PART * dense_bytes()


def test_looking_at_a_state_does_not_store_it():
    learner = SparseQLearning(100, 3)
    learner.act(5)
    learner.learn(1, 0, 1.0, 7, terminated=False)
    assert learner.rows()[0].tolist() == [1]


def test_the_maximum_sees_zeros_that_are_not_stored():
    learner = SparseQLearning(3, 2)
    learner.learn(1, 0, -1.0, 0, terminated=True)
    learner.learn(0, 0, 0.0, 1, terminated=False)
    # Action 1 of state 1 was never taken and is worth 0, more than action 0.
    assert learner.greedy(1) == 1
    assert learner.table()[0, 0] == 0.0


def test_the_frugal_learner_collects_every_ten_thousand_steps(monkeypatch):
    collections: list[int] = []
    learner = MemoryOptimizedQLearning(4, 2)
    monkeypatch.setattr(gc, "collect", lambda generation: collections.append(learner.n_steps))
    for _ in range(2 * COLLECT_EVERY_STEPS + 5):
        learner.learn(0, 1, 0.0, 1, terminated=False)
    assert collections == [COLLECT_EVERY_STEPS, 2 * COLLECT_EVERY_STEPS]


def pretended_cupy(n_devices):
    """NumPy under CuPy's name; `asnumpy` counts how often something comes back to the host."""

    class CUDARuntimeError(Exception):
        pass

    def get_device_count():
        if n_devices is None:
            raise CUDARuntimeError
        return n_devices

    runtime = SimpleNamespace(getDeviceCount=get_device_count, CUDARuntimeError=CUDARuntimeError)
    cupy = SimpleNamespace(**vars(np), cuda=SimpleNamespace(runtime=runtime), copies=0)

    def asnumpy(array):
        cupy.copies += 1
        return array

    cupy.asnumpy = asnumpy
    return cupy


@pytest.mark.parametrize(("n_devices", "there"), [(1, True), (0, False), (None, False)])
def test_the_table_lies_on_the_gpu_where_there_is_one(monkeypatch, n_devices, there):
    cupy = pretended_cupy(n_devices)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    learner = GPUQLearning(4, 2)
    learner.learn(0, 1, 1.0, 2, terminated=True)
    assert (learner.xp is cupy) == there
    assert learner.table()[0, 1] == pytest.approx(0.3)
    assert (cupy.copies > 0) == there


def test_without_cupy_the_same_code_runs_on_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert GPUQLearning(4, 2).xp is np


# A million steps of tic-tac-toe take next to no memory beyond what importing takes.


@pytest.mark.parametrize("name", NAMES)
def test_training_takes_at_most_ten_megabytes_more_than_its_control(name):
    control, trained = peaks_of_training(name)
    assert control > ALLOWED_BYTES
    assert trained - control <= ALLOWED_BYTES
