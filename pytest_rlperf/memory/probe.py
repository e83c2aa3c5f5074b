"""What a worker does where memory is asked for, instead of timing slices: one of three passes.

The resident pass asks the kernel. The traced pass counts every block that
Python's allocators hand out during the calls: numbers of the same code are the same to the byte, or
nearly so, on whatever machine, but what C code takes from the system by itself is not in them. The
exact pass has memray count every allocation, C code's too; it slows code down too much for every
process of a comparison, and is there to name the lines at the peak.
"""

import gc
import json
import math
import os
import subprocess
import sys
import time
import tracemalloc
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self

import psutil

from pytest_rlperf.awaiting import refuse_unused
from pytest_rlperf.errors import FixtureError
from pytest_rlperf.leaving import temporary_folder
from pytest_rlperf.memory import watcher
from pytest_rlperf.memory.counters import (
    Collections,
    Segments,
    ended_children_peak,
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
from pytest_rlperf.model.memory import Evidence, Pass, Probe, ProcessPeak, Site
from pytest_rlperf.wire import MemoryReport
from pytest_rlperf.worker.calls import Calls, Rounds

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these

# -- the children of this process, and how much memory each has taken at most ---------------------

OWN = "the test's process"
UNSEEN = "a child too short-lived to be watched"

Peaks = list[tuple[str, int]]
"""The name and the peak in bytes of each process, of those that lived at the same time."""


class Children:
    """Watches children from a process of its own: code in this one may let no thread run."""

    def __enter__(self) -> Self:
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", watcher.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask({})  # until it is up
        return self

    def __exit__(self, *_: object) -> None:
        self._popen.kill()
        self._popen.communicate()

    def begin(self) -> int:
        """Set the marks of living children back, and forget what was noted until now; return the
        largest peak of those that have ended.
        """
        resident = {}
        for child in psutil.Process().children(recursive=True):
            if child.pid != self._popen.pid:
                reset_mark(child.pid)
                resident[child.pid] = resident_bytes(child.pid)
        self._ask(resident)
        return ended_children_peak()

    def peaks(self, ended_before: int) -> Peaks:
        """Return the peaks since `begin`: of those that were there before, what they took more."""
        (watched, largest), ended = self._ask({}), ended_children_peak()
        known = max(ended_before, peak_bytes(os.getpid()))
        return with_unseen(watched, largest, ended, known)

    def _ask(self, resident: Mapping[int, int]) -> tuple[Peaks, int]:
        """Begin anew; return the peaks until now, and the largest single one."""
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._popen.stdin.write(f"{json.dumps(resident)}\n")
        self._popen.stdin.flush()
        answer = json.loads(self._popen.stdout.readline())
        return [(name, size) for name, size in answer["peaks"]], answer["largest"]


def with_unseen(watched: Peaks, largest: int, ended: int, known: int) -> Peaks:
    """Return the peaks with one that fell between two looks, if there was one: `ended` is the
    kernel's mark of the largest child that has ended. Above the `largest` that was watched, and
    above what is `known` to be of others (see `ended_children_peak`), it tells of such a peak.
    """
    if ended <= max(known, largest):
        return watched
    return [*watched, (UNSEEN, ended - largest)]


# -- the resident pass: what the kernel says of this process and its children during the calls -----
#
# The same is done with a function that does nothing first. What that took is the cost of looking,
# and is subtracted.


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """The memory that this process holds at one moment."""

    unique: int
    segments: Segments

    @classmethod
    def now(cls) -> "HeldMemory":
        return cls(unique_bytes(), mapped_segments())

    def new_segments(self, before: "HeldMemory") -> Segments:
        return {key: size for key, size in self.segments.items() if key not in before.segments}


@dataclass(frozen=True, slots=True)
class CallsMemory:
    """The memory that some calls took."""

    peak: int
    children: Peaks
    before: HeldMemory
    after: HeldMemory
    series: list[float]  # resident bytes before each call but the first
    collections: Collections
    exact: bool  # the kernel's mark could be set back
    fastest_s: float  # of the calls: the machine may be busy with others

    @property
    def unique(self) -> int:
        """Return the bytes of this process alone that the calls left behind."""
        return self.after.unique - self.before.unique


def resident_pass(call: Callable[[], Any], repeats: int) -> tuple[MemoryReport, Any]:
    """Ask the kernel what the calls take; return that and what the last call returned."""
    no_huge_pages()
    with Children() as children:
        control, _ = _measure(_nothing, repeats, children)
        taken, result = _measure(call, repeats, children)
    return _report(taken, control, repeats), result


def _nothing() -> None: ...


def _measure(call: Callable[[], Any], repeats: int, children: Children) -> tuple[CallsMemory, Any]:
    """Make the calls; return the memory that they took, and what the last one returned."""
    own, series, collections = os.getpid(), [], Collections()
    tidy()
    before, ended_before = HeldMemory.now(), children.begin()
    tidy()  # free what looking took
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
    child_peaks = children.peaks(ended_before)
    after = HeldMemory.now()
    taken = CallsMemory(peak, child_peaks, before, after, series, collections, exact, fastest_s)
    return taken, result


def _report(taken: CallsMemory, control: CallsMemory, repeats: int) -> MemoryReport:
    """Return the metrics of the calls, less what `control`, which did nothing, took."""
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


# -- the traced pass and the exact one ------------------------------------------------------------

TRACED_SITES = 5
EXACT_SITES = 5


def traced_pass(call: Callable[[], Any], repeats: int) -> tuple[MemoryReport, Any]:
    """Count every block that Python's allocators hand out during the calls, and name the lines that
    hold most; return that and what the last call returned.
    """
    tidy()
    tracemalloc.stop()  # whoever imported the tests may have started it
    tracemalloc.start()
    try:
        result, series = _repeat(call, repeats)
        _check_tracing()
        peak = tracemalloc.get_traced_memory()[1]
        snapshot = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    own = tracemalloc.Filter(False, __file__)
    traced = snapshot.filter_traces((own, tracemalloc.Filter(False, tracemalloc.__file__)))
    slope = growth(series)
    values = {
        "traced_peak": peak,
        "traced_blocks": len(traced.traces),
        **({} if slope is None else {"growth": slope}),
    }
    sites = tuple(
        Site(f"{line.traceback[0].filename}:{line.traceback[0].lineno}", line.size, line.count)
        for line in traced.statistics("lineno")[:TRACED_SITES]
    )
    return MemoryReport(Pass.TRACED, repeats, values, Evidence(sites=sites)), result


def _repeat(call: Callable[[], Any], repeats: int) -> tuple[Any, Sequence[float]]:
    result = None
    series = array("d", bytes(8 * (repeats - 1)))  # a list would grow meanwhile
    for number in range(repeats):
        result = None  # or it would seem to grow by what a call returns
        gc.collect()
        if number:
            series[number - 1] = tracemalloc.get_traced_memory()[0]
        result = call()
    return result, series


def _check_tracing() -> None:
    if not tracemalloc.is_tracing():
        raise FixtureError(
            "the measured function stopped tracemalloc, which counts its memory; measure a "
            "function that leaves it alone."
        )


def is_installed() -> bool:
    return find_spec("memray") is not None


def exact_pass(call: Callable[[], Any], repeats: int) -> tuple[MemoryReport, Any]:
    """Have memray count every allocation, C code's too, and name the lines at the peak; return that
    and what the last call returned.
    """
    import memray

    result = None
    with temporary_folder("memray") as folder:
        path = folder / "allocations"
        with memray.Tracker(path):
            for _ in range(repeats):
                result = None  # as in the other passes
                result = call()
        with memray.FileReader(path) as reader:
            peak = reader.metadata.peak_memory
            records = list(reader.get_high_watermark_allocation_records(merge_threads=True))
    largest = sorted(records, key=lambda record: record.size, reverse=True)
    sites = tuple(site for record in largest[:EXACT_SITES] for site in _site(record))
    evidence = Evidence(peak_sites=sites)
    return MemoryReport(Pass.EXACT, repeats, {"memray_peak": peak}, evidence), result


def _site(record: Any) -> Iterator[Site]:
    """Yield the innermost line of Python; nothing where C code allocated by itself."""
    for _, file, line in record.stack_trace(max_stacks=1):
        yield Site(f"{file}:{line}", record.size, record.n_allocations)


LOOKS = {Pass.RESIDENT: resident_pass, Pass.TRACED: traced_pass, Pass.EXACT: exact_pass}


def probe(order: Probe, calls: Calls | Rounds) -> MemoryReport:
    """Look at the memory of some calls; return the report."""

    def call() -> Any:
        """Hand the result over: a pass lets go of it before the next call."""
        result, calls.result = calls.once(), None
        return result

    repeats = order.repeats
    if isinstance(calls, Rounds):  # the test counts its calls
        repeats = min(repeats, calls.warmup + calls.rounds)
    report, calls.result = LOOKS[order.look](call, repeats)
    refuse_unused(calls.result)
    return report
