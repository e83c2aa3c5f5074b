"""The exact pass: memray's count of every allocation, C code's too, with the lines at the peak.

It slows code down too much for every process of a comparison, and is there to name lines.
"""

import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SITES = 5

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


def is_installed() -> bool:
    return find_spec("memray") is not None


def look(call: Callable[[], Any], repeats: int) -> tuple[dict[str, Any], Any]:
    """The facts, and what the last call returned."""
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
    return {
        "values": {"memray_peak": peak},
        "peak_sites": [site for record in largest[:SITES] for site in _site(record)],
    }, result


def _site(record: Any) -> Iterator[tuple[str, int, int]]:
    """The innermost line of Python; none where C code allocated by itself."""
    for _, file, line in record.stack_trace(max_stacks=1):
        yield f"{file}:{line}", record.size, record.n_allocations
