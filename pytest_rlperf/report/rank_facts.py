"""What the ranks of an MPI test did, as data and as text: head's, over all blocks."""

import statistics
from typing import Any

from pytest_rlperf.model.block import SideBlock
from pytest_rlperf.model.quantity import format_bytes, format_percent, format_time
from pytest_rlperf.model.result import TestResult


def rank_facts(test: TestResult) -> dict[str, Any] | None:
    """None: it is no MPI test, or was not measured. Times are those of a call, medians over blocks;
    the shares belong to a slice of each block that is not judged.
    """
    sides = [block.head for block in test.blocks if block.head.ranks is not None]
    if not sides:
        return None
    facts = [side.ranks for side in sides if side.ranks is not None]
    times = _medians([_call_ns(side) for side in sides])
    return {
        "nprocs": len(times),
        "time_ns": times,
        "time_min_ns": min(times),
        "time_median_ns": statistics.median(times),
        "time_max_ns": max(times),
        "imbalance": statistics.median(each.imbalance for each in facts),
        "communication": _medians([each.communication for each in facts]),
        "peak_bytes": [max(rank) for rank in zip(*(f.peak_bytes for f in facts), strict=True)],
    }


def render_ranks(test: TestResult) -> str | None:
    """ "4 ranks, 9.1 to 9.8 ms a call, imbalance 5.0 %, communicating for 12 to 30 % of it, …"."""
    facts = rank_facts(test)
    if facts is None:
        return None
    shares = sorted(100 * share for share in facts["communication"])
    return (
        f"{facts['nprocs']} ranks, {format_time(facts['time_min_ns'])} to "
        f"{format_time(facts['time_max_ns'])} a call, imbalance "
        f"{format_percent(facts['imbalance'], signed=False)}, communicating for "
        f"{shares[0]:.0f} to {shares[-1]:.0f} % of it, peak of a rank "
        f"{format_bytes(max(facts['peak_bytes']))}"
    )


def _call_ns(side: SideBlock) -> list[float]:
    assert side.ranks is not None
    calls = len(side.own_ns) * side.calls
    return [own_ns / calls for own_ns in side.ranks.own_ns]


def _medians(blocks: list[Any]) -> list[float]:
    """One a rank."""
    return [statistics.median(rank) for rank in zip(*blocks, strict=True)]
