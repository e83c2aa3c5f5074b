"""DQN whose updates torch computes; it acts, stores and is saved as `agents.dqn` does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Final

from rl_impls.agents.agent import Array, Shape
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.nets.optimisers import Optimiser
from rl_impls.on_torch.adam import FlatAdam
from rl_impls.on_torch.computing import Computing
from rl_impls.on_torch.descent import Descent
from rl_impls.on_torch.device import sent
from rl_impls.on_torch.losses import QBatch, q_loss
from rl_impls.on_torch.mlp import TorchMLP
from rl_impls.replay.transitions import Transitions


class TorchDQN(DQN):
    """A loss that is not finite is noticed after the step that it made."""

    backend: ClassVar[str] = "torch"

    def __init__(
        self,
        shape: Shape,
        settings: DQNSettings | None = None,
        *,
        seed: int | None = None,
        computing: Computing | None = None,
    ) -> None:
        self._computing: Final = computing or Computing()
        self._device: Final = self._computing.place
        super().__init__(shape, settings, seed=seed)
        loss = partial(
            q_loss,
            self._there,
            self._target_there,
            discount=self.settings.discount,
            huber=self.settings.huber,
            double=self.settings.double,
        )
        self._loss: Final = self._computing.ready(loss)
        assert isinstance(self._adam, FlatAdam)
        self._descent: Final = Descent(
            [self._adam], self._computing, max_norm=self.settings.max_norm
        )

    def _optimiser(self) -> Optimiser:
        self._there = TorchMLP(self.net, self._device)
        self._target_there = TorchMLP(self.target, self._device)
        return FlatAdam(self._there.in_order, self.settings.learning_rate)

    @classmethod
    def acting_type(cls) -> type[DQN]:
        return DQN

    def _improve(self, batch: Transitions) -> None:
        there = QBatch(*(sent(array, self._device) for array in batch.arrays()))
        with self._descent.precision():
            loss = self._loss(there)
        self._descent.add(loss)
        gradient = self._descent.step()
        self._there.write()
        self.loss = loss.item()
        self._require_finite(loss=self.loss, gradient=gradient.item())

    def _follow(self) -> None:
        super()._follow()
        self._target_there.read()

    def set_state(self, state: Mapping[str, Array]) -> None:
        super().set_state(state)
        self._there.read()
        self._target_there.read()
