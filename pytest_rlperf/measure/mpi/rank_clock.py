"""The clock of a rank: its slices begin and end together with those of the others."""

from typing import Any

from pytest_rlperf.measure.clock import Clock, Elapsed


class RankClock:
    """The barriers are outside of the time. After the second one no rank of the job computes any
    more, so that the other side may have the cores.
    """

    def __init__(self, clock: Clock, world: Any) -> None:
        self._clock = clock
        self._world = world

    def start(self) -> None:
        self._world.Barrier()
        self._clock.start()

    def stop(self) -> Elapsed:
        elapsed = self._clock.stop()
        self._world.Barrier()
        return elapsed
