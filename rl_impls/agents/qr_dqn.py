"""Quantile regression DQN (Dabney et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from rl_impls.agents.agent import AgentSettings, Array, Environments
from rl_impls.agents.dqn import DQN, DQNSettings, argmax_rows
from rl_impls.envs.control.step import Observations
from rl_impls.errors import SettingError, at_least
from rl_impls.jit import compiled
from rl_impls.nets.dueling import DuelingMLP
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam, Optimiser
from rl_impls.replay.layout import Transitions


@compiled
def mean_quantiles(z: Any, q: Any) -> None:
    """q_ij <- 1/m sum_k z[i, j m + k]: the value of an action is the mean of its quantiles."""
    n, n_actions = q.shape
    m = z.shape[1] // n_actions
    for i in range(n):
        for j in range(n_actions):
            total = 0.0
            for k in range(m):
                total += z[i, j * m + k]
            q[i, j] = total / m


@compiled
def quantile_huber_loss(
    z_tm1: Any, a_tm1: Any, r_t: Any, z_t: Any, best_t: Any, terminated_t: Any,
    discount: float, huber: float, taus: Any, losses: Any, grad: Any,
) -> float:  # fmt: skip
    """Quantile regression (Dabney et al., 2018, equation 10), m quantiles an action:

    L = 1/n sum_i sum_k 1/m sum_l |tau_k - [u < 0]| h(u) / huber
    u = r_i + discount (1 - terminated_i) z_t[i, best_i, l] - z_tm1[i, a_i, k]

    with h as in `q_loss` and tau_k = (k + 1/2) / m in `taus`; `losses` is room for m numbers.
    grad <- dL/dz_tm1. The inner loop runs over k, where the sums do not wait for each other.
    """
    n = len(z_tm1)
    m = len(taus)
    number = z_tm1.dtype.type
    zero, half, one, bound = number(0.0), number(0.5), number(1.0), number(huber)
    scale = number(1.0 / (n * m * huber))
    gamma = number(discount)
    losses[:] = zero
    grad[:] = zero
    for i in range(n):
        mine = z_tm1[i, a_tm1[i] * m : (a_tm1[i] + 1) * m]
        slopes = grad[i, a_tm1[i] * m : (a_tm1[i] + 1) * m]
        keep = zero if terminated_t[i] else gamma
        for at in range(best_t[i] * m, (best_t[i] + 1) * m):
            target = r_t[i] + keep * z_t[i, at]
            for k in range(m):
                u = target - mine[k]
                bounded = min(max(u, -bound), bound)
                weight = one - taus[k] if u < zero else taus[k]
                slopes[k] -= weight * bounded * scale
                losses[k] += weight * bounded * (u - half * bounded)
    loss = 0.0
    for k in range(m):
        loss += losses[k]
    return float(loss / (n * m * huber))


# The paper's 0.01 / 32, for batches of 32. The slope of a quantile does not become smaller as its
# error does: with the usual 1e-8 quantiles that are right go on moving by whole learning rates.
ADAM_EPS_OF_ONE_ROW: Final = 0.01


@dataclass(frozen=True, slots=True)
class QRDQNSettings(DQNSettings):
    """The target network chooses the action it is asked for, as in the paper: `double` is off."""

    huber: float = 1.0
    double: bool = False
    n_quantiles: int = 50

    def check(self) -> None:
        DQNSettings.check(self)
        at_least(1, n_quantiles=self.n_quantiles)


class QRDQN(DQN):
    """A DQN that learns quantiles of the return instead of its mean.

        z_k(s_tm1, a_tm1) -> the quantile (k + 1/2) / m of r_t + discount z(s_t, a*)
        a* = argmax_a q(s_t, a),  q = 1/m sum_k z_k

    The loss is `quantile_huber_loss`.
    """

    name: ClassVar[str] = "qr-dqn"
    settings_type: ClassVar[type[AgentSettings]] = QRDQNSettings
    can_extend: ClassVar[bool] = False

    def __init__(
        self, env: Environments, settings: QRDQNSettings | None = None, *, seed: int | None = None
    ) -> None:
        if settings is not None and not isinstance(settings, QRDQNSettings):
            raise SettingError("QR-DQN takes QRDQNSettings, which know the number of quantiles.")
        shape, settings = self._placed(env, settings, seed)
        n = self._n_quantiles = (settings or QRDQNSettings()).n_quantiles
        super().__init__(shape, settings, seed=seed)
        self._taus = ((np.arange(n) + 0.5) / n).astype(np.float32)
        self._losses = np.zeros(n, np.float32)
        self._q = np.zeros((self.net.max_batch, shape.n_actions), np.float32)

    def _default_settings(self) -> DQNSettings:
        return QRDQNSettings()

    def _n_outputs(self) -> int:
        return self.shape.n_actions * self._n_quantiles

    def _optimiser(self) -> Optimiser:
        eps = ADAM_EPS_OF_ONE_ROW / self.settings.batch
        return Adam(self.net.params, self.net.grads, rate=self.settings.learning_rate, eps=eps)

    def _values_of(self, net: MLP | DuelingMLP, obs: Observations) -> Array:
        return self._means(net.forward(obs))

    def _means(self, z: Array) -> Array:
        q = self._q[: len(z)]
        mean_quantiles(z, q)
        return q

    def _differentiate(self, batch: Transitions) -> float:
        z_t = self.target.forward(batch.obs_t)
        chooses = self.net.forward(batch.obs_t) if self.settings.double else z_t
        argmax_rows(self._means(chooses), self._best)
        return quantile_huber_loss(
            self.net.forward(batch.obs_tm1), batch.a_tm1, batch.r_t, z_t, self._best,
            batch.terminated_t, self.settings.bootstrap, self.settings.huber,
            self._taus, self._losses, self._grad,
        )  # fmt: skip
