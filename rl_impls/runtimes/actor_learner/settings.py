"""Settings of actors and a learner, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from rl_impls.errors import SettingError, at_least
from rl_impls.runtimes.actor_learner.ring import WhenFull


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Sizes of rings and batches, and how often weights travel."""

    actors: int = 1
    # Rows of each actor's ring. Where steps are cheap it is always full, and rows are as old.
    capacity: int = 1024
    when_full: WhenFull = "wait"
    # What the learner waits for before it moves rows to the replay; fewer only at the end.
    batch_rows: int = 1000
    # What an actor gathers before it writes to its ring. It costs freshness and saves calls.
    stage_rows: int = 32
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
        # Else actors could wait for room while the learner waits for rows.
        if self.batch_rows > self.capacity:
            raise SettingError(
                f"a ring of {self.capacity} rows never holds the {self.batch_rows} that the "
                "learner waits for: raise capacity or lower batch_rows."
            )
