"""What holds the memory of a test, as text: the evidence beside its metrics."""

from collections.abc import Iterator, Sequence

from pytest_rlperf.model.memory import MemoryResult, Site
from pytest_rlperf.model.quantity import format_bytes

LISTED = 6
"""More processes or lines than these are not named."""


def render_memory_evidence(memory: MemoryResult) -> Iterator[str]:
    """Yield what holds head's memory."""
    head = memory.head
    if len(head.processes) > 1:
        yield f"processes: {_named([(p.name, p.peak_bytes) for p in head.processes])}"
    if head.segments:
        yield f"shared memory: {_named([(s.name, s.peak_bytes) for s in head.segments])}"
    if head.left:
        yield f"left in /dev/shm: {', '.join(head.left[:LISTED])}"
    if head.sites:
        yield f"held after the calls: {_lines(head.sites)}"
    if head.peak_sites:
        yield f"at the peak: {_lines(head.peak_sites)} (memray)"


def _lines(sites: Sequence[Site]) -> str:
    return _named([(site.where, site.size_bytes) for site in sites])


def _named(sizes: Sequence[tuple[str, int]]) -> str:
    more = len(sizes) - LISTED
    named = ", ".join(f"{name} ({format_bytes(size)})" for name, size in sizes[:LISTED])
    return named + (f" and {more} more" if more > 0 else "")
