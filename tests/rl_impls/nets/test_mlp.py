"""The MLP's forward pass, against the same sums spelt out in float64."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.nets.mlp import MLP, he_normal
from rl_impls.nets.optimisers import Adam, clip_by_norm, mean_huber, mean_squared
from rl_impls.nets.plain import ACTIVATIONS


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


# Gradients: against finite differences in float64, and against torch where it is installed.


STEP = 1e-6


def network(
    activation="tanh", output="linear", *, sizes=(3, 6, 5, 2), dtype=np.float64, seed=0, n=8
):
    mlp = MLP(sizes, activation=activation, output=output, max_batch=n, seed=seed, dtype=dtype)
    rng = np.random.default_rng(seed + 1)
    for bias in mlp.biases:
        bias[:] = 0.3 * rng.standard_normal(len(bias))
    return mlp


def data(mlp, n, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, mlp.sizes[0])).astype(mlp.dtype)
    return x, rng.standard_normal((n, mlp.sizes[-1])).astype(mlp.dtype)


def differences(loss, array):
    """dL/d(every entry), by central differences."""
    slopes = np.empty(array.size)
    flat = array.reshape(-1)
    for i in range(array.size):
        before = flat[i]
        flat[i] = before + STEP
        above = loss()
        flat[i] = before - STEP
        slopes[i] = (above - loss()) / (2 * STEP)
        flat[i] = before
    return slopes.reshape(array.shape)


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize(
    ("activation", "output"), [*((name, "linear") for name in ACTIVATIONS), ("relu", "tanh"),
                               ("gelu", "sigmoid"), ("tanh", "gelu")],
)  # fmt: skip
def test_gradients_equal_finite_differences(kind, activation, output, n):
    mlp = network(activation, output)
    x, target = data(mlp, n)
    grad = np.empty_like(target)

    def loss():
        return mean_squared(mlp.forward(x), target, grad)

    loss()
    to_x = mlp.backward(grad, input_grad=True).copy()
    got = mlp.grads.copy()
    np.testing.assert_allclose(got, differences(loss, mlp.params), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(to_x, differences(loss, x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("n", [1, 7])
def test_float32_follows_float64(kind, activation, n):
    exact, single = (network(activation, dtype=dtype) for dtype in (np.float64, np.float32))
    exact.params[:] = single.params
    x, target = data(single, n)
    for mlp in (exact, single):
        np.testing.assert_allclose(
            mlp.forward(x.astype(mlp.dtype)), exact.forward(x.astype(np.float64)), atol=1e-5
        )
        assert mlp.forward(x.astype(mlp.dtype)).dtype == mlp.dtype
        mlp.backward(target.astype(mlp.dtype))
    np.testing.assert_allclose(single.grads, exact.grads, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_single_row_is_a_batch_of_one(name):
    mlp = network(name, sizes=(9, 7, 6, 3), dtype=np.float32)
    x, target = data(mlp, 2)
    batch = mlp.forward(x).copy()
    np.testing.assert_allclose(mlp.forward(x[:1]), batch[:1], rtol=1e-5, atol=1e-6)
    # Rows that do not lie in one piece take BLAS's way.
    np.testing.assert_array_equal(mlp.forward(np.asfortranarray(x)), batch)
    assert mlp.backward(target) is None


@pytest.mark.parametrize("loss", [mean_squared, mean_huber])
def test_losses_and_gradients_are_means_over_the_batch(loss):
    rng = np.random.default_rng(0)
    y, target = 2 * rng.standard_normal((2, 6, 3))
    grad = np.empty_like(y)
    one = loss(y, target, grad)
    np.testing.assert_allclose(grad, differences(lambda: loss(y, target, np.empty_like(y)), y),
                               rtol=1e-6, atol=1e-8)  # fmt: skip
    twice = np.empty((12, 3))
    assert loss(np.vstack([y, y]), np.vstack([target, target]), twice) == pytest.approx(one)
    np.testing.assert_allclose(twice[:6], grad / 2)


def test_a_batch_twice_as_long_with_the_same_rows_has_the_same_gradient():
    mlp = network("relu", sizes=(3, 8, 2))
    x, target = data(mlp, 4)
    grads = []
    for times in (1, 2):
        y = mlp.forward(np.tile(x, (times, 1)))
        grad = np.empty_like(y)
        mean_squared(y, np.tile(target, (times, 1)), grad)
        mlp.backward(grad)
        grads.append(mlp.grads.copy())
    np.testing.assert_allclose(grads[0], grads[1])


def test_small_batches_add_up_to_a_large_one(kind):
    mlp = network("relu", dtype=np.float32)
    x, target = data(mlp, 8)
    grad = np.empty_like(target)
    whole_loss = mean_squared(mlp.forward(x), target, grad)
    mlp.backward(grad)
    whole = mlp.grads.copy()
    loss = 0.0
    for k in range(4):
        part = slice(2 * k, 2 * k + 2)
        loss += mean_squared(mlp.forward(x[part]), target[part], grad[part], rows=8)
        mlp.backward(grad[part], accumulate=k > 0)
    assert loss == pytest.approx(whole_loss, rel=1e-6)
    np.testing.assert_allclose(mlp.grads, whole, rtol=1e-6, atol=1e-6)


def test_backward_leaves_the_given_gradient_and_the_input_alone():
    mlp = network("tanh", "tanh", dtype=np.float32)
    x, grad = data(mlp, 4)
    before = x.copy(), grad.copy()
    mlp.forward(x)
    mlp.backward(grad)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(grad, before[1])


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_step_allocates_no_array(name):
    mlp = network(name, sizes=(4, 64, 64, 2), dtype=np.float32, n=256)
    adam = Adam(mlp.params, mlp.grads)
    x, grad = data(mlp, 256)

    def step():
        mlp.forward(x)
        mlp.backward(grad)
        clip_by_norm(mlp.grads)
        adam.step()

    step()
    tracemalloc.start()
    step()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The smallest array of the batch has 256 rows of 2 float32 numbers.
    assert peak - before < 256 * 2 * 4


def test_gradients_that_do_not_fit_are_refused():
    mlp = network()
    with pytest.raises(ValueError, match="call forward first"):
        mlp.backward(np.zeros((1, 2)))
    mlp.forward(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"gradient of shape \(3, 2\), not float64 \(2, 2\)"):
        mlp.backward(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="not float32"):
        mlp.backward(np.zeros((3, 2), np.float32))


TORCH_NAMES = {"relu": "ReLU", "leaky_relu": "LeakyReLU", "tanh": "Tanh", "sigmoid": "Sigmoid"}


@pytest.mark.parametrize("name", [*TORCH_NAMES, "gelu"])
def test_gradients_equal_those_of_torch(name):
    torch = pytest.importorskip("torch")
    mlp = network(name)
    x, target = data(mlp, 6)
    layers = []
    for weight, bias in zip(mlp.weights, mlp.biases, strict=True):
        layer = torch.nn.Linear(*weight.shape, dtype=torch.float64)
        layer.weight.data = torch.tensor(weight.T.copy())
        layer.bias.data = torch.tensor(bias.copy())
        gelu = torch.nn.GELU(approximate="tanh")
        layers += [layer, gelu if name == "gelu" else getattr(torch.nn, TORCH_NAMES[name])()]
    model = torch.nn.Sequential(*layers[:-1])
    y = model(torch.tensor(x))
    ((y - torch.tensor(target)) ** 2).sum(dim=1).mean().backward()
    grad = np.empty_like(target)
    mean_squared(mlp.forward(x), target, grad)
    mlp.backward(grad)
    for i, layer in enumerate(layers[::2]):
        np.testing.assert_allclose(mlp.weight_grads[i], layer.weight.grad.numpy().T, rtol=1e-9)
        np.testing.assert_allclose(mlp.bias_grads[i], layer.bias.grad.numpy(), rtol=1e-9)
