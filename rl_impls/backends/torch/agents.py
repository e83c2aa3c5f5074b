"""DQN and PPO whose updates torch computes; they act and are saved as those of
`rl_impls.agents`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

import torch
from numpy.typing import NDArray
from torch.nn import functional

from rl_impls.agents.agent import Array, Environments
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import ADAM_EPS, PPO, PPOSettings
from rl_impls.agents.rollout import Flat
from rl_impls.backends.torch.computing import Computing, Descent, FlatAdam, sent
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Optimiser
from rl_impls.nets.plain import LINEAR, RELU, TANH
from rl_impls.replay.layout import Transitions

# Of the networks that DQN and PPO have.
_ACTIVATIONS: Final[dict[int, Callable[[torch.Tensor], torch.Tensor]]] = {
    LINEAR: lambda z: z,
    RELU: torch.relu,
    TANH: torch.tanh,
}


class TorchMLP(torch.nn.Module):
    """A network of `nets.mlp` with the same weights. On the CPU its parameters lie in the memory of
    that network: what torch learns is there at once. Elsewhere `read` and `write` carry them
    over."""

    def __init__(self, net: MLP, device: torch.device) -> None:
        super().__init__()
        self._net: Final = net
        self._shares: Final = device.type == "cpu"
        arrays = [*net.weights, *net.biases]
        self._values: Final = torch.nn.ParameterList(
            torch.nn.Parameter(sent(array, device)) for array in arrays
        )
        # As they lie in the flat array: weights and biases in turn.
        n = len(net.weights)
        self.in_order: Final = [self._values[i + part] for i in range(n) for part in (0, n)]
        self._between: Final = _ACTIVATIONS[net.activation.code]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = len(self._values) // 2
        for i in range(n):
            x = torch.addmm(self._values[n + i], x, self._values[i])
            if i < n - 1:
                x = self._between(x)
        return x

    def read(self) -> None:
        """Take over what the network of NumPy has become."""
        if not self._shares:
            with torch.no_grad():
                for value, array in self._pairs():
                    value.copy_(torch.from_numpy(array))

    def write(self) -> None:
        """Hand on what was learned here."""
        if not self._shares:
            with torch.no_grad():
                for value, array in self._pairs():
                    torch.from_numpy(array).copy_(value)

    def _pairs(self) -> Iterator[tuple[torch.nn.Parameter, NDArray[Any]]]:
        return zip(self._values, [*self._net.weights, *self._net.biases], strict=True)


Network = Callable[[torch.Tensor], torch.Tensor]


class QBatch(NamedTuple):
    obs_tm1: torch.Tensor
    a_tm1: torch.Tensor
    r_t: torch.Tensor
    obs_t: torch.Tensor
    terminated_t: torch.Tensor


def q_loss(
    net: Network, target: Network, batch: QBatch, *, discount: float, huber: float, double: bool
) -> torch.Tensor:
    """Return the mean Huber loss of (double) Q-learning; see `agents.dqn.q_loss`."""
    with torch.no_grad():
        q_t = target(batch.obs_t)
        best = (net(batch.obs_t) if double else q_t).argmax(dim=1, keepdim=True)
        follows = discount * q_t.gather(1, best).float().squeeze(1)
        goal = batch.r_t + torch.where(batch.terminated_t, 0.0, follows)
    q_tm1 = net(batch.obs_tm1).gather(1, batch.a_tm1.unsqueeze(1)).squeeze(1)
    return functional.huber_loss(q_tm1.float(), goal, delta=huber)


def policy_loss(
    logits: torch.Tensor,
    a_tm1: torch.Tensor,
    old_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    clip: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the clipped surrogate and the mean entropy; see
    `agents.rollout.clipped_policy_loss`."""
    log_probs = torch.log_softmax(logits, dim=1)
    chosen = log_probs.gather(1, a_tm1.unsqueeze(1)).squeeze(1)
    ratio = torch.exp(chosen - old_log_probs)
    bounded = torch.clamp(ratio, 1.0 - clip, 1.0 + clip)
    surrogate = torch.minimum(ratio * advantages, bounded * advantages).mean()
    entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
    return -surrogate, entropy


def normalised(advantages: torch.Tensor) -> torch.Tensor:
    """Return the advantages with mean 0 and deviation 1; of one row alone, 0."""
    centred = advantages - advantages.mean()
    deviation = torch.sqrt((centred**2).sum() / max(len(advantages) - 1, 1))
    return centred / (deviation + 1e-8)


class TorchDQN(DQN):
    """A loss that is not finite is noticed after the step that it made."""

    backend: ClassVar[str] = "torch"
    can_extend: ClassVar[bool] = False

    def __init__(
        self,
        env: Environments,
        settings: DQNSettings | None = None,
        *,
        seed: int | None = None,
        computing: Computing | None = None,
    ) -> None:
        self._computing: Final = computing or Computing()
        self._device: Final = self._computing.place
        super().__init__(env, settings, seed=seed)
        loss = partial(
            q_loss,
            self._there,
            self._target_there,
            discount=self.settings.bootstrap,
            huber=self.settings.huber,
            double=self.settings.double,
        )
        self._loss: Final = self._computing.ready(loss)
        assert isinstance(self._adam, FlatAdam)
        self._descent: Final = Descent(
            [self._adam], self._computing, max_norm=self.settings.max_norm
        )

    def _optimiser(self) -> Optimiser:
        assert isinstance(self.net, MLP)  # two streams are refused
        assert isinstance(self.target, MLP)
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


class TorchPPO(PPO):
    """A loss that is not finite is noticed at the end of its round."""

    backend: ClassVar[str] = "torch"

    def __init__(
        self,
        env: Environments,
        settings: PPOSettings | None = None,
        *,
        seed: int | None = None,
        computing: Computing | None = None,
    ) -> None:
        self._computing: Final = computing or Computing()
        self._device: Final = self._computing.place
        super().__init__(env, settings, seed=seed)
        self._loss: Final = self._computing.ready(self._losses)
        adams = [each for each in self._optimisers if isinstance(each, FlatAdam)]
        self._descent: Final = Descent(adams, self._computing, max_norm=self.settings.max_norm)

    def _make_optimisers(self) -> Sequence[Optimiser]:
        assert isinstance(self.actor, MLP)  # continuous actions are refused
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
