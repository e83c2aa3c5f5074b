"""The measured function of a rank, and what is known of the rank besides its times."""

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_rlperf.measure.clock import Clock, Elapsed
from pytest_rlperf.measure.loop import Calls
from pytest_rlperf.measure.mpi.communicator import RankComm, timed

RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class RankCalls(Calls):
    def __init__(
        self,
        func: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        setup: Callable[[], Any] | None,
        comm: RankComm,
    ) -> None:
        super().__init__(func, args, kwargs, setup)
        self._comm = comm
        self._slice = 1

    def timed(self, calls: int, clock: Clock) -> tuple[Elapsed, Any]:
        self._slice = calls
        return super().timed(calls, clock)

    def facts(self) -> Mapping[str, Any]:
        """Asked for after the last slice, by all ranks."""
        return {
            "communication": self._communication(),
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT,
        }

    def _communication(self) -> float:
        """Share of a further slice that is spent inside calls of the communicator, waiting for
        slower ranks included; what goes past it, such as waiting for a request, is not seen.
        """
        begun = time.perf_counter_ns()
        with timed(self._comm) as spent:
            self.warm(self._slice)
        return spent.ns / max(1, time.perf_counter_ns() - begun)
