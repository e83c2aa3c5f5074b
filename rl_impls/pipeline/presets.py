"""A pipeline as one writes it first, and this one, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rl_impls.agents.dqn import DQNSettings
from rl_impls.pipeline.settings import PipelineSettings


@dataclass(frozen=True, slots=True)
class PipelinePreset:
    pipeline: PipelineSettings
    batches_an_update: int = 1  # of those the agent's own settings tell of

    def learner(self, settings: DQNSettings) -> DQNSettings:
        """What the agent learns with, given what it would in one process."""
        return settings.in_larger_batches(self.batches_an_update)


PRESETS: Final[dict[str, PipelinePreset]] = {
    "original": PipelinePreset(
        PipelineSettings(
            lock="batch",
            batch_rows=32,
            stage_rows=1,
            poll_s=1e-3,
            compare=True,
            publish_interval=1,
            sync_interval=1,
        )
    ),
    "optimised": PipelinePreset(PipelineSettings(), batches_an_update=2),
}
