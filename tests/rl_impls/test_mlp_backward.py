"""Gradients: against finite differences in float64, and against torch where it is installed."""

import tracemalloc

import numpy as np
import pytest

from rl_impls.nets.activations import ACTIVATIONS
from rl_impls.nets.gradients import clip_by_norm
from rl_impls.nets.losses import mean_huber, mean_squared
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam

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
