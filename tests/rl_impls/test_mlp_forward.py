"""The MLP's forward pass, against the same sums spelt out in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.nets.mlp import MLP, he_normal


def naive_forward(mlp, x):
    """One neuron at a time."""
    outputs = []
    for row in x.astype(np.float64):
        h = row
        for layer, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
            h = np.array([sum(h * weight[:, j]) + bias[j] for j in range(len(bias))])
            if layer < len(mlp.weights) - 1:
                h = np.array([max(0.0, value) for value in h])
        outputs.append(h)
    return np.array(outputs)


def random_input(n, size, seed=0):
    return np.random.default_rng(seed).standard_normal((n, size), dtype=np.float32)


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    n=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_forward_equals_the_sums_spelt_out(sizes, n, seed):
    mlp = MLP(sizes, max_batch=5, seed=seed)
    for bias in mlp.biases:
        bias[:] = np.random.default_rng(seed).standard_normal(len(bias))
    x = random_input(n, sizes[0], seed)
    before = x.copy()
    got = mlp.forward(x)
    assert got.shape == (n, sizes[-1])
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, naive_forward(mlp, x), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(x, before)


def test_a_row_does_not_depend_on_the_batch_before_it():
    mlp = MLP([4, 8, 3], max_batch=16, seed=0)
    x = random_input(2, 4)
    alone = mlp.forward(x).copy()
    mlp.forward(random_input(16, 4, seed=1))
    np.testing.assert_array_equal(mlp.forward(x), alone)


def test_forward_writes_into_the_same_memory():
    mlp = MLP([4, 8, 3], max_batch=16, seed=0)
    assert np.shares_memory(mlp.forward(random_input(16, 4)), mlp.forward(random_input(3, 4)))


def test_he_weights_keep_the_mean_square_of_relu_layers():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 512))
    for _ in range(5):
        x = np.maximum(x, 0.0) @ he_normal(rng, 512, 512)
    # Each layer halves by ReLU and doubles by the weights; the first input has mean square 1.
    assert np.mean(x**2) == pytest.approx(1.0, rel=0.3)


def test_equal_seeds_give_equal_weights():
    first, second = (MLP([3, 4, 2], max_batch=1, seed=9) for _ in range(2))
    for a, b in zip(first.weights, second.weights, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.zeros((1, 5), np.float32), ValueError, r"shape \(batch, 4\), not \(1, 5\)"),
        (np.zeros(4, np.float32), ValueError, r"shape \(batch, 4\), not \(4,\)"),
        (np.zeros((3, 4), np.float32), ValueError, "batch of 3 does not fit max_batch=2"),
        (np.zeros((1, 4)), TypeError, "float32 input, not float64"),
    ],
    ids=["width", "one dimension", "batch", "dtype"],
)
def test_an_input_that_does_not_fit_is_refused(x, error, message):
    with pytest.raises(error, match=message):
        MLP([4, 3], max_batch=2).forward(x)


@pytest.mark.parametrize(
    ("sizes", "max_batch"), [([4], 1), ([4, 0], 1), ([4, 3], 0)], ids=["one", "zero", "batch"]
)
def test_sizes_that_make_no_network_are_refused(sizes, max_batch):
    with pytest.raises(ValueError, match="not"):
        MLP(sizes, max_batch=max_batch)
