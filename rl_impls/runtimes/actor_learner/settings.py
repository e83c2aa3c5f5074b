"""How a pipeline runs, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from rl_impls.agents.agent import at_least, positive
from rl_impls.agents.dqn import DQNSettings
from rl_impls.errors import SettingError
from rl_impls.runtimes.actor_learner.ring import WhenFull

# Held by nobody; by whoever copies rows, and for the copy only; by the learner also while it moves
# a whole batch to the replay.
Lock = Literal["none", "copy", "batch"]


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    actors: int = 1
    # Rows of each actor's ring. Where steps are cheap it is always full, and rows are as old.
    capacity: int = 1024
    when_full: WhenFull = "wait"
    lock: Lock = "none"  # one for all rings, to compare with
    # What the learner waits for before it moves rows to the replay; fewer only at the end.
    batch_rows: int = 1000
    # What an actor gathers before it writes to its ring. It costs freshness and saves calls.
    stage_rows: int = 32
    poll_s: float | None = None  # the learner looks so often, instead of being woken
    compare: bool = False  # all weights at either end, instead of checksum and version
    publish_interval: int = 50  # updates
    sync_interval: int = 10  # steps of an actor's environments between two looks for new weights
    report_every: int = 10_000  # rows
    threads: int = 1  # of BLAS and OpenMP, in each process
    pin: bool = False  # actors to cores in turn, from the second on

    def __post_init__(self) -> None:
        at_least(
            1, actors=self.actors, capacity=self.capacity, batch_rows=self.batch_rows,
            stage_rows=self.stage_rows, publish_interval=self.publish_interval,
            sync_interval=self.sync_interval, report_every=self.report_every, threads=self.threads,
        )  # fmt: skip
        if self.lock not in get_args(Lock):
            raise SettingError(f"lock is {', '.join(get_args(Lock))}, and not {self.lock!r}.")
        if self.poll_s is not None:
            positive(poll_s=self.poll_s)
        # Else actors could wait for room while the learner waits for rows.
        if self.batch_rows > self.capacity:
            raise SettingError(
                f"a ring of {self.capacity} rows never holds the {self.batch_rows} that the "
                "learner waits for: raise capacity or lower batch_rows."
            )


# A pipeline as one writes it first, and this one, by name.


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
