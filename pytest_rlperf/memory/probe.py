"""What a worker does where memory is asked for, instead of timing slices: one of three passes.

The resident pass (`memory.resident`) asks the kernel. The traced pass counts every block that
Python's allocators hand out during the calls: numbers of the same code are the same to the byte, or
nearly so, on whatever machine, but what C code takes from the system by itself is not in them. The
exact pass has memray count every allocation, C code's too; it slows code down too much for every
process of a comparison, and is there to name the lines at the peak.
"""

import gc
import tempfile
import tracemalloc
from array import array
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.memory.counters import growth, tidy
from pytest_rlperf.memory.resident import resident_pass
from pytest_rlperf.model.memory import Evidence, Pass, Probe, Site
from pytest_rlperf.wire import MemoryReport
from pytest_rlperf.worker.calls import Calls, Rounds

TRACED_SITES = 5

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


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


EXACT_SITES = 5


def is_installed() -> bool:
    return find_spec("memray") is not None


def exact_pass(call: Callable[[], Any], repeats: int) -> tuple[MemoryReport, Any]:
    """Have memray count every allocation, C code's too, and name the lines at the peak; return that
    and what the last call returned.
    """
    import memray

    result = None
    with tempfile.TemporaryDirectory(prefix="rlperf-memray-") as folder:
        path = Path(folder, "allocations")
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
    return report
