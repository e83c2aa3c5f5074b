"""The measured function of a rank, and what is known of the rank besides its times."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_rlperf.measure.clock import Clock, Elapsed
from pytest_rlperf.measure.loop import Calls
from pytest_rlperf.measure.memory.kernel import own_peak_bytes
from pytest_rlperf.measure.mpi.communicator import RankComm, timed


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
        self._watched = False
        self._exchange_ns: list[int] = []  # CPU time inside of MPI, one a slice

    def watch(self) -> None:
        """From now on tell of each slice what it spent inside of calls of the communicator."""
        self._watched = True

    def exchanges(self) -> int:
        """Calls of the communicator in a further call, made by all ranks."""
        with timed(self._comm) as spent:
            self.once()
        return spent.calls

    def timed(self, calls: int, clock: Clock) -> tuple[Elapsed, Any]:
        self._slice = calls
        if not self._watched:
            return super().timed(calls, clock)
        with timed(self._comm) as spent:
            taken = super().timed(calls, clock)
        self._exchange_ns.append(spent.cpu_ns)
        return taken

    def facts(self) -> Mapping[str, Any]:
        """Asked for after the last slice, by all ranks."""
        return {
            **super().facts(),
            **({"exchange_ns": self._exchange_ns} if self._watched else {}),
            "communication": self._communication(),
            "peak_bytes": own_peak_bytes(),
        }

    def _communication(self) -> float:
        """Share of a further slice that is spent inside calls of the communicator, waiting for
        slower ranks included; what goes past it, such as waiting for a request, is not seen.
        """
        begun = time.perf_counter_ns()
        with timed(self._comm) as spent:
            self.warm(self._slice)
        return spent.wall_ns / max(1, time.perf_counter_ns() - begun)
