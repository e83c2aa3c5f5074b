"""The settings that both sides have; their names here are ours."""

from __future__ import annotations

from typing import Final

from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.ppo import PPOSettings
from rl_impls.agents.sac import SACSettings

N_ENVS: Final = 8
# As they come: horizon 2048, 10 epochs, minibatch 256, two networks of 64 x 64 tanh units.
PPO: Final = PPOSettings()
# Theirs is not double, and has a Huber loss that cannot be set.
DQN: Final = DQNSettings(target_every=1000, epsilon_over=5000, huber=1.0, double=False)
# Their actor learns at every update of the critics.
SAC: Final = SACSettings(actor_every=1, buffer=100_000, learning_starts=2000)
