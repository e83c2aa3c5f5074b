"""From what the ranks of a job say of a test to what is said of the job."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Facts = Mapping[str, Any]

TOGETHER = 0.99
"""Of the wall time of the last rank: who takes that long ended with it."""


def merged_facts(ranks: Sequence[Facts]) -> dict[str, Any]:
    """Of scouts, who agree but for their counts, of slices, of the reference kernels, or of
    memory."""
    merged = dict(ranks[0])
    if "values" in merged:
        return merged | _memory(ranks)
    if "work" in merged:
        merged["work"] = summed_work([facts["work"] for facts in ranks])
    if "unit_ns" in merged:
        merged["unit_ns"] = {n: max(f["unit_ns"][n] for f in ranks) for n in merged["unit_ns"]}
    if "own_ns" in merged:
        merged |= _slices(ranks)
    if "kernel_ns" in merged:
        every = [facts["kernel_ns"] for facts in ranks]
        merged["kernel_ns"] = {n: slowest([k[n] for k in every]) for n in merged["kernel_ns"]}
    if any("phases" in facts for facts in ranks):
        shares = summed_work([facts.get("phases", {}) for facts in ranks])
        merged["phases"] = {name: share / len(ranks) for name, share in shares.items()}
    if "communication" in merged:
        merged["ranks"] = {
            "own_ns": [math.fsum(facts["own_ns"]) for facts in ranks],
            "communication": [facts["communication"] for facts in ranks],
            "peak_bytes": [facts["peak_bytes"] for facts in ranks],
        }
    return merged


def _slices(ranks: Sequence[Facts]) -> dict[str, Any]:
    return {
        "own_ns": _job_times(ranks),
        "wall_ns": slowest([facts["wall_ns"] for facts in ranks]),
        "cpu_ns": [sum(times) for times in zip(*(f["cpu_ns"] for f in ranks), strict=True)],
        "preempted": sum(facts["preempted"] for facts in ranks),
    }


def _memory(ranks: Sequence[Facts]) -> dict[str, Any]:
    """Sizes of all ranks together, and each process and segment by the rank that it belongs to."""
    return {
        "values": summed_work([facts["values"] for facts in ranks]),
        **{name: _by_rank(ranks, name) for name in ("processes", "segments") if name in ranks[0]},
        **({"exact": all(f["exact"] for f in ranks)} if "exact" in ranks[0] else {}),
        **({"call_s": max(f["call_s"] for f in ranks)} if "call_s" in ranks[0] else {}),
    }


def _by_rank(ranks: Sequence[Facts], name: str) -> list[tuple[str, int]]:
    return [(f"rank {k}: {what}", size) for k, f in enumerate(ranks) for what, size in f[name]]


def _job_times(ranks: Sequence[Facts]) -> list[int]:
    names = ("own_ns", "exchange_ns" if "exchange_ns" in ranks[0] else "wall_ns")
    of_job = time_of_turns if "exchange_ns" in ranks[0] else time_of_slice
    every = [list(zip(*(facts[name] for name in names), strict=True)) for facts in ranks]
    return [of_job(slices) for slices in zip(*every, strict=True)]


def time_of_slice(ranks: Sequence[tuple[int, int]]) -> int:
    """What a slice would have taken undisturbed; of each rank its own time and its wall time.

    Who waits for another rank spins inside of MPI and looks busy, so that whatever disturbs one
    of them is in the own time of all others. Of ranks that end together, the one with the least
    own time had the least to wait. One that ends before the last one did not wait for it.
    """
    last_own, last_wall = max(ranks, key=lambda rank: rank[1])
    disturbed = last_wall - last_own
    return min(own for own, wall in ranks if wall >= TOGETHER * last_wall - disturbed)


def time_of_turns(ranks: Sequence[tuple[int, int]]) -> int:
    """The same where both jobs run at once; of each rank its own time and the part of it inside
    of MPI: there the rank that computes longest has nobody to wait for.
    """
    computing = max(own - exchange for own, exchange in ranks)
    return max(1, computing + min(exchange for _, exchange in ranks))


def slowest(ranks: Sequence[Sequence[int]]) -> list[int]:
    """Of each slice the longest time."""
    return [max(times) for times in zip(*ranks, strict=True)]


def summed_work(counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """What all ranks did together."""
    names = dict.fromkeys(name for each in counts for name in each)
    return {name: math.fsum(each.get(name, 0.0) for each in counts) for name in names}
