"""QR-DQN: the quantile Huber loss against a plain one."""

import numpy as np
import pytest

from rl_impls.agents.agent import Shape
from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings, mean_quantiles, quantile_huber_loss
from rl_impls.errors import SettingError
from tests.rl_impls.agents.differences import numeric_gradient

CARTPOLE = "rl_impls/CartPole-v1"
N, N_ACTIONS, M = 6, 3, 4


def naive_quantile_loss(z_tm1, a_tm1, r_t, z_t, best_t, terminated, discount, kappa):
    total = 0.0
    for i in range(len(a_tm1)):
        mine = z_tm1[i].reshape(N_ACTIONS, M)[a_tm1[i]]
        follows = 0.0 if terminated[i] else discount * z_t[i].reshape(N_ACTIONS, M)[best_t[i]]
        for target in r_t[i] + follows * np.ones(M):
            for k in range(M):
                u = target - mine[k]
                huber = u**2 / 2 if abs(u) <= kappa else kappa * (abs(u) - kappa / 2)
                total += abs((k + 0.5) / M - (u < 0)) * huber / kappa / M
    return total / len(a_tm1)


@pytest.mark.parametrize("kappa", [0.5, 1.0, 10.0])
def test_the_quantile_loss_and_its_gradient_are_those_of_the_equation(kappa):
    rng = np.random.default_rng(0)
    z_tm1, z_t = 2 * rng.standard_normal((2, N, N_ACTIONS * M))
    a_tm1, best_t = rng.integers(N_ACTIONS, size=(2, N))
    r_t, terminated = rng.standard_normal(N), np.arange(N) == 2
    taus, losses, grad = (np.arange(M) + 0.5) / M, np.zeros(M), np.full_like(z_tm1, np.nan)

    def loss(at):
        return naive_quantile_loss(at, a_tm1, r_t, z_t, best_t, terminated, 0.9, kappa)

    got = quantile_huber_loss(
        z_tm1, a_tm1, r_t, z_t, best_t, terminated, 0.9, kappa, taus, losses, grad
    )  # fmt: skip
    assert got == pytest.approx(loss(z_tm1))
    np.testing.assert_allclose(grad, numeric_gradient(loss, z_tm1), atol=1e-8)


def test_the_least_loss_is_at_the_quantiles_of_the_targets():
    # A coin of 0 and 10, the end of the episode: half of the quantiles belong to each side.
    rng = np.random.default_rng(1)
    n = 512
    r_t = np.where(rng.random(n) < 0.5, 0.0, 10.0)
    z = np.full((n, M), 5.0)
    taus, losses, grad = (np.arange(M) + 0.5) / M, np.zeros(M), np.zeros_like(z)
    zeros, ended = np.zeros(n, np.int64), np.ones(n, bool)
    for _ in range(400):
        quantile_huber_loss(z, zeros, r_t, z, zeros, ended, 0.9, 1.0, taus, losses, grad)
        z -= 0.5 * grad.sum(axis=0) * M
    np.testing.assert_allclose(z[0, :2], 0.0, atol=1.0)
    np.testing.assert_allclose(z[0, 2:], 10.0, atol=1.0)


def test_the_value_of_an_action_is_the_mean_of_its_quantiles():
    z, q = np.arange(24.0).reshape(2, 12), np.zeros((2, 3))
    mean_quantiles(z, q)
    np.testing.assert_allclose(q, z.reshape(2, 3, 4).mean(axis=2))


def test_settings_without_quantiles_are_refused():
    with pytest.raises(SettingError, match="QR-DQN takes QRDQNSettings"):
        QRDQN(Shape(1, 4, 2), DQNSettings())  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="n_quantiles is at least 1, not 0"):
        QRDQNSettings(n_quantiles=0)
