"""Exact call counts and time by function, from the interpreter's own profiling events.

Time is wall time: reading a clock of CPU time is a system call, which may take longer than the
function it would time. So that waiting for the core is nobody's fault, times come from the slices
that waited least. Numba reports a compiled function to the profiler as if it were a Python one, so
its time is its own; what was inlined into it is not seen.
"""

import cProfile
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

from pytest_rlperf.measure.clock import Elapsed
from pytest_rlperf.measure.profiling.entries import NOTHING, Entry, Key, entries, key_of, summed
from pytest_rlperf.measure.profiling.overhead import Overhead, event_overhead

CLEAN_SHARE = 0.5
"""Of the slices: those that had the core most of their time."""


class FunctionWatch:
    """cProfile around every slice."""

    def __init__(self, read_ns: Callable[[], int] | None) -> None:
        self._profile = cProfile.Profile() if read_ns is None else cProfile.Profile(read_ns, 1e-9)
        self._overhead = event_overhead() if read_ns is None else Overhead()
        self._slices: list[dict[Key, Entry]] = []
        self._elapsed: list[Elapsed] = []

    def start(self) -> None:
        self._profile.enable()

    def stop(self) -> None:
        self._profile.disable()

    def note(self, elapsed: Elapsed) -> None:
        self._slices.append(entries(self._profile.getstats(), self._overhead))
        self._elapsed.append(elapsed)
        self._profile.clear()

    def facts(self, calls: int) -> dict[str, Any]:
        compiled, clean = _compiled(), cleanest(self._elapsed)
        return {
            "functions": [
                {
                    "function": key,
                    **summary([each.get(key, NOTHING) for each in self._slices], clean, calls),
                    "compiled": key in compiled,
                }
                for key in sorted({key for each in self._slices for key in each})
            ],
            "calls": calls * len(self._slices),
            "computing": _computing(self._elapsed),
        }


def cleanest(slices: Sequence[Elapsed]) -> list[int]:
    """The numbers of the slices that waited least for the core."""
    waited = [each.delay_ns / max(1, each.wall_ns) for each in slices]
    order = sorted(range(len(waited)), key=waited.__getitem__)
    return order[: math.ceil(CLEAN_SHARE * len(order))]


def summary(seen: Sequence[Entry], clean: Sequence[int], calls: int) -> dict[str, Any]:
    """One function over all slices, each of `calls` calls: times of the clean slices, counts of
    all.
    """
    times = [seen[number].own_ns / calls for number in clean]
    whole = summed(seen)
    return {
        "calls": whole.calls,
        "typical_ns": statistics.median(times),
        "mean_ns": statistics.fmean(times),
        "natives": whole.natives,
        "callees": [[key, *callee] for key, callee in whole.callees.items()],
    }


def _computing(slices: Iterable[Elapsed]) -> float:
    own_ns, cpu_ns = map(sum, zip(*((each.own_ns, each.cpu_ns) for each in slices), strict=True))
    return min(1.0, cpu_ns / max(1, own_ns))


def _compiled() -> set[Key]:
    """Functions that Numba compiled, as far as modules know them by a name."""
    if "numba" not in sys.modules:
        return set()
    codes = (
        getattr(getattr(value, "py_func", None), "__code__", None)
        for module in list(sys.modules.values())
        for value in list(getattr(module, "__dict__", {}).values())
        # Others may do anything when they are asked for an attribute.
        if type(value).__module__.startswith("numba.")
    )
    return {key_of(code) for code in codes if isinstance(code, CodeType)}
