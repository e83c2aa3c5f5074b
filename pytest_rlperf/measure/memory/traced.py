"""The traced pass: every block that Python's allocators hand out during the calls.

Numbers of the same code are the same to the byte, or nearly so, on whatever machine; what C code
takes from the system by itself is not in them.
"""

import gc
import tracemalloc
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.measure.memory.kernel import tidy
from pytest_rlperf.measure.memory.slope import growth

SITES = 5

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


def look(call: Callable[[], Any], repeats: int) -> tuple[dict[str, Any], Any]:
    """The facts, and what the last call returned."""
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
    found = snapshot.filter_traces((own, tracemalloc.Filter(False, tracemalloc.__file__)))
    slope = growth(series)
    return {
        "values": {
            "traced_peak": peak,
            "traced_blocks": len(found.traces),
            **({} if slope is None else {"growth": slope}),
        },
        "sites": [
            (f"{line.traceback[0].filename}:{line.traceback[0].lineno}", line.size, line.count)
            for line in found.statistics("lineno")[:SITES]
        ],
    }, result


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
