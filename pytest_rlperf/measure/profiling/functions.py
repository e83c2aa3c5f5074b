"""Exact call counts and time by function, from the interpreter's own profiling events.

Numba reports a compiled function to the profiler as if it were a Python one, so its time is its
own; what was inlined into it is not seen.
"""

import cProfile
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

from pytest_rlperf.measure.clock import Elapsed
from pytest_rlperf.measure.profiling.entries import NOTHING, Entry, Key, entries, key_of, summed
from pytest_rlperf.measure.profiling.overhead import NS, event_overhead


class FunctionWatch:
    """cProfile around every slice."""

    def __init__(self, read_ns: Callable[[], int]) -> None:
        self._profile = cProfile.Profile(read_ns, NS)
        self._overhead = event_overhead(read_ns)
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
        compiled = _compiled()
        return {
            "functions": [
                {
                    "function": key,
                    **summary([each.get(key, NOTHING) for each in self._slices], calls),
                    "compiled": key in compiled,
                }
                for key in sorted({key for each in self._slices for key in each})
            ],
            "calls": calls * len(self._slices),
            "computing": _computing(self._elapsed),
        }


def summary(seen: Sequence[Entry], calls: int) -> dict[str, Any]:
    """One function over all slices, each of `calls` calls."""
    times = [entry.own_ns / calls for entry in seen]
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
        if str(type(value).__module__).startswith("numba.")
    )
    return {key_of(code) for code in codes if isinstance(code, CodeType)}
