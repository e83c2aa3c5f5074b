"""The network in two streams: values by the equation, gradients by differences."""

from itertools import pairwise

import numpy as np
import pytest

from rl_impls.nets import kernels, plain
from rl_impls.nets.dueling import DuelingMLP
from tests.rl_impls.agents.differences import numeric_gradient

SIZES = [[3, 5, 4], [3, 6, 5, 4], [3, 7, 6, 5, 2]]


def made(sizes, seed=0):
    return DuelingMLP(sizes, init="fan_in_uniform", max_batch=8, seed=seed)


def dense(params, sizes, x, last):
    at = 0
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        weight = params[at : at + fan_in * fan_out].reshape(fan_in, fan_out)
        at += fan_in * fan_out
        x = x @ weight + params[at : at + fan_out]
        at += fan_out
        if last or i < len(sizes) - 2:
            x = np.maximum(x, 0.0)
    return x, params[at:]


def by_equation(params, sizes, x):
    *shared, width, n_actions = sizes
    h, rest = dense(np.asarray(params, np.float64), shared, x, last=True)
    value, rest = dense(rest, [shared[-1], width, 1], h, last=False)
    advantage, rest = dense(rest, [shared[-1], width, n_actions], h, last=False)
    assert not len(rest)
    return value + advantage - advantage.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("n", [1, 8])
def test_values_are_those_of_the_equation(sizes, n):
    net, x = made(sizes), np.random.default_rng(1).standard_normal((n, 3)).astype(np.float32)
    np.testing.assert_allclose(net.forward(x), by_equation(net.params, sizes, x), atol=1e-5)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_gradients_are_those_of_differences(sizes):
    rng = np.random.default_rng(2)
    net, x = made(sizes), rng.standard_normal((6, 3)).astype(np.float32)
    weights = rng.standard_normal((6, sizes[-1])).astype(np.float32)
    net.forward(x)
    net.backward(weights)
    want = numeric_gradient(lambda at: (weights * by_equation(at, sizes, x)).sum(), net.params)
    np.testing.assert_allclose(net.grads, want, rtol=1e-3, atol=1e-4)


def test_the_mean_of_all_actions_is_the_value_of_the_state():
    net, x = made([3, 6, 5, 4]), np.ones((2, 3), np.float32)
    q = net.forward(x)
    assert net.trunk is not None
    np.testing.assert_allclose(q.mean(axis=1), net.value.forward(net.trunk.forward(x))[:, 0], 1e-5)


def test_equal_seeds_begin_equal_and_streams_begin_apart():
    assert np.array_equal(made(SIZES[1]).params, made(SIZES[1]).params)
    assert not np.array_equal(made(SIZES[1]).params, made(SIZES[1], seed=1).params)
    net = made([3, 5, 1])
    assert not np.array_equal(net.value.params, net.advantage.params)


@pytest.mark.parametrize("n_actions", [1, 2, 7])
def test_compiled_code_and_numpy_agree(n_actions):
    rng = np.random.default_rng(3)
    value, advantage = rng.standard_normal((9, 1)), rng.standard_normal((9, n_actions))
    joined, parts = [], []
    for ops in (kernels, plain):
        q, by_value, by_advantage = (np.zeros_like(a) for a in (advantage, value, advantage))
        ops.join_streams(value, advantage, q)
        ops.split_gradient(advantage, by_value, by_advantage)
        joined.append(q)
        parts.append(np.hstack([by_value, by_advantage]))
    for one, other in (joined, parts):
        np.testing.assert_allclose(one, other, atol=1e-12)
