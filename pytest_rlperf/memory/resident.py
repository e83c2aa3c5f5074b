"""The resident pass: what the kernel says of this process and its children during the calls.

The same is done with a function that does nothing first. What that took is the cost of looking, and
is subtracted.
"""

import gc
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_rlperf.memory.children import Children
from pytest_rlperf.memory.counters import (
    Collections,
    Segments,
    growth,
    mapped_segments,
    no_huge_pages,
    outliving,
    peak_bytes,
    reset_mark,
    resident_bytes,
    tidy,
    unique_bytes,
)
from pytest_rlperf.model.memory import Evidence, Pass, ProcessPeak
from pytest_rlperf.wire import MemoryReport

OWN = "the test's process"

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


@dataclass(frozen=True, slots=True)
class Held:
    """The memory that this process holds at one moment."""

    unique: int
    segments: Segments

    @classmethod
    def now(cls) -> "Held":
        return cls(unique_bytes(), mapped_segments())

    def new_segments(self, before: "Held") -> Segments:
        return {key: size for key, size in self.segments.items() if key not in before.segments}


@dataclass(frozen=True, slots=True)
class Taken:
    """The memory that some calls took."""

    peak: int
    children: list[tuple[str, int]]
    before: Held
    after: Held
    series: list[float]
    collections: Collections
    exact: bool
    fastest_s: float  # of the calls: the machine may be busy with others

    @property
    def unique(self) -> int:
        return self.after.unique - self.before.unique


def resident_pass(call: Callable[[], Any], repeats: int) -> tuple[MemoryReport, Any]:
    """Ask the kernel what the calls take; return that and what the last call returned."""
    no_huge_pages()
    with Children() as children:
        control, _ = _take(_nothing, repeats, children)
        taken, result = _take(call, repeats, children)
    return _report(taken, control, repeats), result


def _nothing() -> None: ...


def _take(call: Callable[[], Any], repeats: int, children: Children) -> tuple[Taken, Any]:
    own, series, collections = os.getpid(), [], Collections()
    tidy()
    before, others = Held.now(), children.begin()
    tidy()  # of what looking took
    exact = reset_mark(own)
    start = resident_bytes(own)
    result, fastest_s = None, math.inf
    for number in range(repeats):
        result = None  # or the call would be measured with what the one before it returned
        gc.collect()
        if number:
            series.append(float(resident_bytes(own)))
        begun = time.perf_counter()
        with collections.counted():
            result = call()
        fastest_s = min(fastest_s, time.perf_counter() - begun)
    peak = max(0, peak_bytes(own) - start)
    found = children.peaks(others)
    after = Held.now()
    return Taken(peak, found, before, after, series, collections, exact, fastest_s), result


def _report(taken: Taken, control: Taken, repeats: int) -> MemoryReport:
    own = max(0, taken.peak - control.peak)
    processes = [(OWN, own), *taken.children]
    segments = taken.after.new_segments(taken.before)
    slope = growth(taken.series)
    values = {
        "peak_rss": sum(peak for _, peak in processes),
        "uss": max(0, taken.unique - control.unique),
        "shared_memory": sum(segments.values()),
        **({} if slope is None else {"growth_rss": slope}),
        "gc_collections": taken.collections.number,
        "gc_pause": taken.collections.pause_ns,
    }
    evidence = Evidence(
        processes=tuple(ProcessPeak(name, peak) for name, peak in processes),
        segments=tuple(ProcessPeak(name, size) for (_, name), size in segments.items()),
        left=tuple(outliving(segments)),
        exact=taken.exact,
    )
    return MemoryReport(Pass.RESIDENT, repeats, values, evidence, taken.fastest_s)
