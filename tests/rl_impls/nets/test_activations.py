"""Activations: known values, slopes against differences, compiled rows against NumPy."""

import math

import numpy as np
import pytest

from rl_impls.nets import kernels
from rl_impls.nets.mlp import INITS, MLP
from rl_impls.nets.plain import ACTIVATIONS, LINEAR, SLOPE, activation_named

Z = np.linspace(-6.0, 6.0, 97).reshape(-1, 1) + 1e-3
SPELT_OUT = {
    "linear": lambda z: z,
    "relu": lambda z: max(0.0, z),
    "leaky_relu": lambda z: z if z > 0 else 0.01 * z,
    "tanh": lambda z: (math.exp(z) - math.exp(-z)) / (math.exp(z) + math.exp(-z)),
    "sigmoid": lambda z: 1 / (1 + math.exp(-z)),
    "gelu": lambda z: z * 0.5 * (1 + math.erf(z / math.sqrt(2))),
}


def value(name, z):
    activation = ACTIVATIONS[name]
    kept = z.copy()
    y = np.empty_like(z) if activation.keeps_z else kept
    activation.value(kept, y)
    return y, kept


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_are_those_of_the_equation(name):
    want = [[SPELT_OUT[name](float(z))] for z in Z[:, 0]]
    # GELU has the tanh form.
    np.testing.assert_allclose(value(name, Z)[0], want, atol=5e-4 if name == "gelu" else 1e-12)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes_are_those_of_the_values(name):
    want = (value(name, Z + 1e-6)[0] - value(name, Z - 1e-6)[0]) / 2e-6
    slope = np.empty_like(Z)
    y, kept = value(name, Z)
    ACTIVATIONS[name].slope(kept if ACTIVATIONS[name].keeps_z else y, slope)
    np.testing.assert_allclose(slope, want, atol=1e-8)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_compiled_slopes_are_those_of_numpy(name):
    activation = ACTIVATIONS[name]
    delta = np.random.default_rng(0).standard_normal(Z.shape)
    y, kept = value(name, Z)
    slope = np.empty_like(Z)
    activation.slope(kept if activation.keeps_z else y, slope)
    code = activation.code
    fused = code in kernels.SLOPES or code == LINEAR
    got, bias_grad = delta.copy(), np.ones(1)
    kernels.through(got, y if fused else slope, bias_grad, code if fused else SLOPE)
    np.testing.assert_allclose(got, delta * slope, rtol=1e-9)
    np.testing.assert_allclose(bias_grad, (delta * slope).sum(axis=0))


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("n", [1, 2])
def test_nothing_overflows_and_nan_goes_through(kind, name, n):
    mlp = MLP([1, 2, 1], activation=name, max_batch=2, seed=0)
    mlp.weights[0][:] = [[1.0, -1.0]]
    assert np.isfinite(mlp.forward(np.full((n, 1), 500.0, np.float32))).all()
    with np.errstate(invalid="ignore"):
        assert np.isnan(mlp.forward(np.full((n, 1), np.nan, np.float32))).all()


def test_first_weights_have_the_variance_they_promise():
    rng = np.random.default_rng(0)
    wanted = {
        "he_uniform": 2 / 300, "he_normal": 2 / 300, "xavier_uniform": 2 / 500,
        "fan_in_uniform": 1 / 900, "orthogonal": 1 / 300,
    }  # fmt: skip
    assert set(wanted) == set(INITS)
    for name, variance in wanted.items():
        weight = INITS[name](rng, 300, 200)
        assert weight.shape == (300, 200)
        assert weight.var() == pytest.approx(variance, rel=0.03)
        if name not in ("he_normal", "orthogonal"):
            assert np.abs(weight).max() <= math.sqrt(3 * variance) * 1.0001


def test_unknown_names_are_refused_with_those_there_are():
    with pytest.raises(ValueError, match="no activation 'swish': choose one of linear, relu"):
        activation_named("swish")
    with pytest.raises(ValueError, match="no init 'zeros': choose one of he_uniform"):
        MLP([1, 1], init="zeros", max_batch=1)
