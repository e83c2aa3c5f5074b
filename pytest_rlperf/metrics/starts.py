"""What a fresh process does once: importing modules, and the first call with all it compiles.

A block is a fresh process of each side, so it gives one observation, which is judged as a slice of
time would be: against the other side's, or against the reference kernels that played in that block.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_rlperf.model.block import Block, Reference, SideBlock
from pytest_rlperf.model.metric import Metric
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.stats.decide import Decision, Gate
from pytest_rlperf.stats.verdicts import Ended, verdict_of

LEAST_ALLOWED = 0.10
"""Unless the test has a threshold of its own: one observation a block is not known as well as the
typical pair of many slices."""


def start_key(nodeid: str, name: str) -> str:
    """Under which the start of a test is compared, as if it were a test itself."""
    return f"{nodeid} {name}"


def start_block(block: Block, name: str) -> Block:
    """The block as if the start were all that it had measured."""
    return replace(
        block,
        head=_start_side(block.head, name),
        base=None if block.base is None else _start_side(block.base, name),
        reference=None if block.reference is None else _whole(block.reference),
    )


def _start_side(side: SideBlock, name: str) -> SideBlock:
    taken = (max(1, round(side.starts_ns[name])),)
    return SideBlock(own_ns=taken, wall_ns=taken, cpu_ns=taken, calls=1, work=side.work)


def _whole(reference: Reference) -> Reference:
    times = reference.call_ns.items()
    return Reference({name: (statistics.fmean(calls),) for name, calls in times})


def start_gate(gate: Gate, spec: Spec) -> Gate:
    if spec.threshold is not None:
        return gate
    return replace(gate, threshold=max(LEAST_ALLOWED, gate.threshold))


def start_metric(
    name: str,
    blocks: Sequence[Block],
    found: Decision | Ended | None,
    threshold: float,
    *,
    labels: Iterable[str],
    interrupted: bool,
) -> Metric:
    """Return a start with its verdict; `blocks` are those that `start_block` makes."""
    verdict = verdict_of(
        found if isinstance(found, Decision) else None,
        found if isinstance(found, Ended) else None,
        threshold,
        failed=False,
        skipped=False,
        labels=labels,
        interrupted=interrupted,
    )
    head = tuple(block.head.call_ns for block in blocks)
    value = statistics.median(head) if head else None
    worse = 1 + verdict.interval.change if verdict.interval else None
    return Metric(
        name=name,
        verdict=verdict,
        head=head,
        base=tuple(block.base.call_ns for block in blocks if block.base is not None),
        value=value,
        base_value=value / worse if value is not None and worse else None,
    )
