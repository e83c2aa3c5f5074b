"""Quantile regression DQN (Dabney et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rl_impls.agents.agent import AgentSettings, Array, Shape, at_least
from rl_impls.agents.dqn import DQN, DQNSettings, argmax_rows, mean_quantiles, quantile_huber_loss
from rl_impls.envs.control.step import Observations
from rl_impls.errors import SettingError
from rl_impls.nets.mlp import MLP
from rl_impls.replay.layout import Transitions


@dataclass(frozen=True, slots=True)
class QRDQNSettings(DQNSettings):
    """As in the paper, the target network chooses the action it is asked for: `double` is off."""

    huber: float = 1.0
    double: bool = False
    n_quantiles: int = 50

    def check(self) -> None:
        DQNSettings.check(self)
        at_least(1, n_quantiles=self.n_quantiles)


class QRDQN(DQN):
    """A DQN that learns quantiles of the return instead of its mean."""

    name: ClassVar[str] = "qr-dqn"
    settings_type: ClassVar[type[AgentSettings]] = QRDQNSettings

    def __init__(
        self, shape: Shape, settings: QRDQNSettings | None = None, *, seed: int | None = None
    ) -> None:
        if settings is not None and not isinstance(settings, QRDQNSettings):
            raise SettingError("QR-DQN takes QRDQNSettings, which know the number of quantiles.")
        n = self._n_quantiles = (settings or QRDQNSettings()).n_quantiles
        super().__init__(shape, settings, seed=seed)
        self._taus = ((np.arange(n) + 0.5) / n).astype(np.float32)
        self._losses = np.zeros(n, np.float32)
        self._q = np.zeros((self.net.max_batch, shape.n_actions), np.float32)

    def _default_settings(self) -> DQNSettings:
        return QRDQNSettings()

    def _n_outputs(self) -> int:
        return self.shape.n_actions * self._n_quantiles

    def _values_of(self, net: MLP, obs: Observations) -> Array:
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
            batch.terminated_t, self.settings.discount, self.settings.huber,
            self._taus, self._losses, self._grad,
        )  # fmt: skip
