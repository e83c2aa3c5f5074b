"""Twin delayed deep deterministic policy gradients (Fujimoto et al., 2018): continuous actions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rl_impls.agents.agent import AgentSettings, Array, Environments, State
from rl_impls.agents.choices import standard_normal
from rl_impls.agents.twin_critics import ACTING, LEARNING, TwinCritics, TwinSettings
from rl_impls.envs.control.step import Observations
from rl_impls.errors import not_negative, positive
from rl_impls.jit import compiled
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Polyak, norm_of


@compiled
def perturbed(actions: Any, noise: Any, std: float, most: float, out: Any) -> None:
    """out <- clip(a + clip(std eps, -most, most), -1, 1), with eps in `noise`."""
    n, size = noise.shape
    for i in range(n):
        for j in range(size):
            pushed = actions[i, j] + min(max(std * noise[i, j], -most), most)
            out[i, j] = min(max(pushed, -1.0), 1.0)


@dataclass(frozen=True, slots=True)
class TD3Settings(TwinSettings):
    """Noise is told as a deviation, for actions between -1 and 1."""

    noise: float = 0.1  # of the actions that are taken
    target_noise: float = 0.2  # of those that values bootstrap from
    target_clip: float = 0.5  # its largest size

    def check(self) -> None:
        TwinSettings.check(self)
        not_negative(noise=self.noise, target_noise=self.target_noise)
        positive(target_clip=self.target_clip)


class TD3(TwinCritics):
    """A deterministic actor, twin critics, and copies of all three that follow slowly.

        q_i(s_tm1, a_tm1) -> r_t + discount min_j q_target_j(s_t, a)
        a = clip(mu_target(s_t) + clip(N(0, target_noise), -target_clip, target_clip), -1, 1)
        mu: maximise E[q_1(s, mu(s))]

    The actor and the copies learn at every `actor_every`-th update of the critics. The losses are
    `soft_targets`, without an entropy, and `critic_loss`.
    """

    name: ClassVar[str] = "td3"
    settings_type: ClassVar[type[AgentSettings]] = TD3Settings
    settings: TD3Settings

    def __init__(
        self, env: Environments, settings: TD3Settings | None = None, *, seed: int | None = None
    ) -> None:
        super().__init__(env, settings, seed=seed)

    def _default_settings(self) -> TD3Settings:
        return TD3Settings()

    def _make_actor(self, seed: int) -> MLP:
        return self._make_network(self.shape.obs_size, self.shape.act_size, seed, "tanh")

    def _make_networks(self, actor_seed: int, critic_seeds: list[int]) -> None:
        super()._make_networks(actor_seed, critic_seeds)
        self.actor_target = self._make_actor(actor_seed)
        self._polyaks.append(Polyak(self.actor_target.params, self.actor.params, self.settings.tau))

    def _allocate(self) -> None:
        super()._allocate()
        n = self.settings.batch
        # Of L = -1/n sum_i q_1(obs_i, mu(obs_i)).
        self._by_value = np.full((n, 1), -1.0 / n, np.float32)

    def _explore(self, obs: Observations) -> None:
        standard_normal(self._chance, ACTING, self._acting_noise)
        best = self.actor.forward(obs)
        perturbed(best, self._acting_noise, self.settings.noise, math.inf, self._squashed)

    def _best_of(self, obs: Observations) -> Array:
        return self.actor.forward(obs)

    def _imagine(self, obs_t: Array) -> float:
        standard_normal(self._chance, LEARNING, self._noise)
        perturbed(
            self.actor_target.forward(obs_t), self._noise, self.settings.target_noise,
            self.settings.target_clip, self._drawn,
        )  # fmt: skip
        return 0.0

    def _update_actor(self, obs_tm1: Array) -> None:
        critic = self.critics[0]
        critic.forward(self._join(obs_tm1, self.actor.forward(obs_tm1)))
        # What this leaves in the critic's gradients is overwritten before it learns again.
        by_x = critic.backward(self._by_value, input_grad=True)
        assert by_x is not None
        self.actor.backward(by_x[:, self.shape.obs_size :])
        self._require_finite(gradient=norm_of(self.actor.grads))
        self._adams["actor"].step()
        self._follow()

    def _learned(self) -> State:
        return {**super()._learned(), "actor_target": self.actor_target.params}
