"""PPO whose updates torch computes; it acts, judges and is saved as `agents.ppo` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import torch

from rl_impls.agents.agent import Array, Shape
from rl_impls.agents.ppo import ADAM_EPS, PPO, PPOSettings
from rl_impls.agents.rollout import Flat
from rl_impls.nets.optimisers import Optimiser
from rl_impls.on_torch.adam import FlatAdam
from rl_impls.on_torch.computing import Computing
from rl_impls.on_torch.descent import Descent
from rl_impls.on_torch.device import sent
from rl_impls.on_torch.losses import normalised, policy_loss
from rl_impls.on_torch.mlp import TorchMLP


class TorchPPO(PPO):
    """A loss that is not finite is noticed at the end of its round."""

    backend: ClassVar[str] = "torch"

    def __init__(
        self,
        shape: Shape,
        settings: PPOSettings | None = None,
        *,
        seed: int | None = None,
        computing: Computing | None = None,
    ) -> None:
        self._computing: Final = computing or Computing()
        self._device: Final = self._computing.place
        super().__init__(shape, settings, seed=seed)
        self._loss: Final = self._computing.ready(self._losses)
        adams = [each for each in self._optimisers if isinstance(each, FlatAdam)]
        self._descent: Final = Descent(adams, self._computing, max_norm=self.settings.max_norm)

    def _make_optimisers(self) -> Sequence[Optimiser]:
        self._nets = [TorchMLP(net, self._device) for net in (self.actor, self.critic)]
        rate = self.settings.rate()
        return [FlatAdam(net.in_order, rate, eps=ADAM_EPS) for net in self._nets]

    def _improve(self) -> None:
        flat = Flat(*(sent(array, self._device) for array in self._rollout.flat))
        size = self.settings.minibatch
        for order in self._orders():
            rows = sent(order, self._device)
            for start in range(0, len(order), size):
                losses, gradient = self._minibatch(flat, rows[start : start + size])
        for net in self._nets:
            net.write()
        policy, value, entropy = (loss.item() for loss in losses)
        self.losses = policy, value, entropy
        self._require_finite(loss=policy + value, gradient=gradient.item())

    def _minibatch(self, flat: Any, rows: torch.Tensor) -> tuple[Any, torch.Tensor]:
        settings = self.settings
        with self._descent.precision():
            policy, value, entropy = self._loss(Flat(*(array[rows] for array in flat)))
        bonus = settings.entropy_weight * entropy
        self._descent.add(policy - bonus + settings.value_weight * value)
        return (policy, value, entropy), self._descent.step()

    def _losses(self, batch: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        actor, critic = self._nets
        policy, entropy = policy_loss(
            actor(batch.obs).float(), batch.actions, batch.log_probs, normalised(batch.advantages),
            self.settings.clip,
        )  # fmt: skip
        returns = batch.advantages + batch.values
        value = ((critic(batch.obs).float().squeeze(1) - returns) ** 2).mean()
        return policy, value, entropy

    def set_state(self, state: Mapping[str, Array]) -> None:
        super().set_state(state)
        for net in self._nets:
            net.read()
