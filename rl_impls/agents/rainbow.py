"""A DQN with what helps it most and costs little, switched on together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rl_impls.agents.agent import AgentSettings, Environments
from rl_impls.agents.dqn import DQN, DQNSettings


@dataclass(frozen=True, slots=True)
class RainbowLiteSettings(DQNSettings):
    """Double, dueling, prioritised and of 3 steps, as in Rainbow (Hessel et al., 2018)."""

    prioritised: bool = True
    priority_alpha: float = 0.5
    n_step: int = 3
    dueling: bool = True


class RainbowLite(DQN):
    """Four of the six parts of Rainbow (Hessel et al., 2018): double, dueling, prioritised replay
    and returns of several steps. Values are means, not distributions, and exploration is epsilon's.
    """

    name: ClassVar[str] = "rainbow-lite"
    settings_type: ClassVar[type[AgentSettings]] = RainbowLiteSettings

    def __init__(
        self,
        env: Environments,
        settings: RainbowLiteSettings | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(env, settings, seed=seed)

    def _default_settings(self) -> DQNSettings:
        return RainbowLiteSettings()
