"""From stored sizes to what head's are held against, or why they cannot be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_rlperf.judge.stored import differing, edited
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.model.baseline import Stored
from pytest_rlperf.model.memory import MemoryMetric, Rule
from pytest_rlperf.model.verdict import Outcome

EVERYWHERE = ("implementation", "python", "threads")
"""Facts that decide what Python's allocators are asked for."""
HERE = ("architecture", "cpu", "cores", "numpy", "blas")
"""Facts that also decide what is resident: libraries take buffers for the cores they find."""
TRACED = frozenset({Rule.TRACED, Rule.GROWTH})


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    values: Mapping[str, tuple[float, ...]]  # by metric, one a process
    repeats: int
    elsewhere: Ended | None = None  # why only what was traced may be compared with

    def ended_for(self, metric: MemoryMetric) -> Ended | None:
        return None if metric.rule in TRACED else self.elsewhere


def memory_level(
    stored: Stored, source_hash: str, facts: Mapping[str, Any]
) -> MemoryLevel | Ended | None:
    """None: its memory is not stored. `facts` are those of this run and test."""
    memory = stored.memory
    if memory is None:
        return None
    if other := differing(memory.facts, facts, EVERYWHERE):
        return Ended(Outcome.INCOMPARABLE, f"recorded under other facts: {'; '.join(other)}")
    if stored.source_hash != source_hash:
        return edited()
    elsewhere = differing(memory.facts, facts, HERE)
    return MemoryLevel(
        values=memory.values,
        repeats=memory.repeats,
        elsewhere=_elsewhere("; ".join(elsewhere)) if elsewhere else None,
    )


def _elsewhere(what: str) -> Ended:
    return Ended(
        Outcome.INCOMPARABLE,
        f"resident memory is compared on like machines only: {what}; what was traced holds",
    )
