"""Optimisers against the equations entry by entry, torch, and themselves after a restart."""

import math

import numpy as np
import pytest

from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import SGD, Adam, Polyak, clip_by_norm
from rl_impls.schedules import Constant, Cosine, Exponential, Linear, Steps

N = 37


def gradients(n_steps, seed=0):
    return np.random.default_rng(seed).standard_normal((n_steps, N)).astype(np.float32)


def naive_adam(params, all_grads, rate, beta_1=0.9, beta_2=0.999, eps=1e-8):
    params = [float(p) for p in params]
    for i in range(len(params)):
        mean = square = 0.0
        for t, grads in enumerate(all_grads, start=1):
            g = float(grads[i])
            mean = beta_1 * mean + (1 - beta_1) * g
            square = beta_2 * square + (1 - beta_2) * g * g
            mean_hat, square_hat = mean / (1 - beta_1**t), square / (1 - beta_2**t)
            params[i] -= rate.at(t - 1) * mean_hat / (math.sqrt(square_hat) + eps)
    return params


def naive_sgd(params, all_grads, rate, momentum):
    params = [float(p) for p in params]
    for i in range(len(params)):
        velocity = 0.0
        for t, grads in enumerate(all_grads):
            velocity = momentum * velocity + float(grads[i])
            params[i] -= rate.at(t) * velocity
    return params


def follow(make, all_grads, dtype=np.float32):
    params = np.linspace(-1, 1, N).astype(dtype)
    grads = np.zeros(N, dtype)
    optimiser = make(params, grads)
    for each in all_grads:
        grads[:] = each
        optimiser.step()
    return params


RATE = Linear(0.1, 0.01, over=20, per="step")


def test_adam_takes_the_steps_of_its_equations(kind):
    all_grads = gradients(25)
    want = naive_adam(np.linspace(-1, 1, N), all_grads, RATE)
    got = follow(lambda p, g: Adam(p, g, rate=RATE), all_grads)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    exact = follow(lambda p, g: Adam(p, g, rate=RATE), all_grads, np.float64)
    np.testing.assert_allclose(exact, want, rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_takes_the_steps_of_its_equations(kind, momentum):
    all_grads = gradients(25)
    want = naive_sgd(np.linspace(-1, 1, N), all_grads, RATE, momentum)
    got = follow(lambda p, g: SGD(p, g, rate=RATE, momentum=momentum), all_grads, np.float64)
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("make", [Adam, lambda p, g: SGD(p, g, momentum=0.9)], ids=["adam", "sgd"])
def test_a_restored_optimiser_goes_on_bit_for_bit(kind, make):
    params, grads = np.zeros(N, np.float32), np.zeros(N, np.float32)
    optimiser = make(params, grads)
    for each in gradients(5):
        grads[:] = each
        optimiser.step()
    later, later_grads = params.copy(), np.zeros(N, np.float32)
    restored = make(later, later_grads)
    restored.set_state(optimiser.state())
    for each in gradients(5, seed=1):
        grads[:] = later_grads[:] = each
        optimiser.step()
        restored.step()
    np.testing.assert_array_equal(later, params)
    with pytest.raises(ValueError, match="not that of an optimiser of 3 parameters"):
        make(np.zeros(3), np.zeros(3)).set_state(optimiser.state())
    for number in (np.complex64(1), np.float64(1e300)):
        odd = {name: np.full(array.shape, number) for name, array in optimiser.state().items()}
        with pytest.raises(ValueError, match="or holds no real numbers of its range"):
            restored.set_state(odd)


@pytest.mark.parametrize(("name", "options"), [("Adam", {}), ("SGD", {"momentum": 0.9})])
def test_steps_equal_those_of_torch(name, options):
    torch = pytest.importorskip("torch")
    ours = {"Adam": Adam, "SGD": SGD}[name]
    all_grads = gradients(20).astype(np.float64)
    param = torch.nn.Parameter(torch.linspace(-1, 1, N, dtype=torch.float64))
    theirs = getattr(torch.optim, name)([param], lr=0.01, **options)
    for each in all_grads:
        param.grad = torch.tensor(each)
        theirs.step()
    got = follow(lambda p, g: ours(p, g, rate=0.01, **options), all_grads, np.float64)
    np.testing.assert_allclose(got, param.detach().numpy(), rtol=1e-9, atol=1e-9)


def test_a_network_learns_xor(kind):
    mlp = MLP([2, 16, 1], activation="tanh", output="sigmoid", init="xavier_uniform",
              max_batch=4, seed=0)  # fmt: skip
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    target = np.array([[0], [1], [1], [0]], np.float32)
    adam = Adam(mlp.params, mlp.grads, rate=0.05)
    for _ in range(300):
        mlp.backward((mlp.forward(x) - target) / 4)
        clip_by_norm(mlp.grads)
        adam.step()
    np.testing.assert_array_equal(mlp.forward(x) > 0.5, target > 0.5)


def test_clipping_keeps_the_direction_and_bounds_the_norm():
    grads = np.array([3.0, -4.0], np.float32)
    assert clip_by_norm(grads) == pytest.approx(5.0)
    np.testing.assert_allclose(grads, [0.3, -0.4], rtol=1e-6)
    assert clip_by_norm(grads, 0.6) == pytest.approx(0.5)
    np.testing.assert_allclose(grads, [0.3, -0.4], rtol=1e-6)


def test_clipping_survives_squares_beyond_float32_and_leaves_what_is_not_finite():
    grads = np.array([3e30, 4e30], np.float32)
    assert clip_by_norm(grads, 1.0) == pytest.approx(5e30, rel=1e-6)
    np.testing.assert_allclose(grads, [0.6, 0.8], rtol=1e-6)
    broken = np.array([np.inf, 1.0], np.float32)
    assert clip_by_norm(broken, 1.0) == math.inf
    assert broken[1] == 1.0
    with pytest.raises(ValueError, match="above 0, not at 0"):
        clip_by_norm(grads, 0)


def test_a_target_follows_slowly(kind):
    target, source = np.zeros(N, np.float32), np.linspace(-1, 1, N).astype(np.float32)
    follower = Polyak(target, source, tau=0.1)
    for _ in range(3):
        follower.step()
    np.testing.assert_allclose(target, source * (1 - 0.9**3), rtol=1e-5)


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (Exponential(1e-3, 0.99, 0.0, "step", every=1_000),
         {0: 1e-3, 500: 1e-3 * 0.99**0.5, 1_000: 0.99e-3, 3_000: 1e-3 * 0.99**3}),
        (Steps(1e-3), {0: 1e-3, 9_999: 1e-3, 10_000: 5e-4, 25_000: 2.5e-4}),
        (Cosine(1e-3, 1e-5, over=50_000),
         {0: 1e-3, 25_000: 5.05e-4, 50_000: 1e-5, 80_000: 1e-5}),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_learning_rates_follow_their_schedules(schedule, values):
    assert [schedule.at(n) for n in values] == pytest.approx(list(values.values()))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Steps(1e-3, every=0), "changes after at least 1 step, not 0"),
        (lambda: Steps(2.0), "start lies between 0 and 1, not at 2.0"),
        (lambda: Cosine(1e-3, 1e-5, over=0), "lasts at least 1 step, not 0"),
        (lambda: Exponential(1e-3, 0.9, 0.0, "step", every=0), "over at least 1 step, not 0"),
        (lambda: Adam(np.zeros(2), np.zeros(3)), "one size and type, not float64"),
        (lambda: Adam(np.zeros(4)[::2], np.zeros(2)), "lie in one piece"),
        (lambda: Adam(np.zeros(2), np.zeros(2), betas=(0.9, 1.0)), "betas lie between 0 and 1"),
        (lambda: Adam(np.zeros(2), np.zeros(2), eps=0.0), "eps lies above 0"),
        (lambda: Adam(np.zeros(2), np.zeros(2), rate=-1.0), "value lies between 0 and 1"),
        (lambda: SGD(np.zeros(2), np.zeros(2), momentum=1.0), "momentum lies between 0 and 1"),
        (lambda: Polyak(np.zeros(2), np.zeros(2), 1.5), "tau lies between 0 and 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_number_is_a_constant_rate():
    assert Adam(np.zeros(2), np.zeros(2), rate=0.25).rate == Constant(0.25, "step")
