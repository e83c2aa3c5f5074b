"""Which operators of torch moved, beside the functions that are blamed.

They overlap with those functions, which call them, so that they explain no share of their own: they
are told where the profiles of all pairs agree. An operator that is called more often in every
process of one side is no estimate.
"""

from collections.abc import Sequence
from statistics import median

from pytest_rlperf.judge.blame import LEAST_CHANGE, MOST_CAUSES, ProfiledPair
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.profile import OperatorCost, SideProfile
from pytest_rlperf.model.why import Operator

ABSENT = OperatorCost(0.0, 0.0)


def compare_operators(pairs: Sequence[ProfiledPair]) -> tuple[Operator, ...]:
    """The largest change first."""
    watched = [pair for pair in pairs if pair.head.operators and pair.base.operators]
    if len(watched) < LEAST_BLOCKS:
        return ()
    names = {name for pair in watched for side in pair for name in side.operators}
    least_ns = LEAST_CHANGE * median(_total_ns(pair.base) for pair in watched)
    found = [
        operator
        for name in sorted(names)
        if _agree(watched, name)
        and abs((operator := _compared(watched, name)).change_ns) >= least_ns
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.change_ns))[:MOST_CAUSES])


def _total_ns(side: SideProfile) -> float:
    return sum(cost.ns for cost in side.operators.values())


def _costs(pairs: Sequence[ProfiledPair], name: str) -> list[tuple[OperatorCost, OperatorCost]]:
    return [
        (pair.head.operators.get(name, ABSENT), pair.base.operators.get(name, ABSENT))
        for pair in pairs
    ]


def _agree(pairs: Sequence[ProfiledPair], name: str) -> bool:
    """Slower in all pairs, or quicker in all."""
    slower = {head.ns > base.ns for head, base in _costs(pairs, name)}
    return len(slower) == 1


def _compared(pairs: Sequence[ProfiledPair], name: str) -> Operator:
    heads, bases = zip(*_costs(pairs, name), strict=True)
    return Operator(
        name,
        base_calls=median(cost.calls for cost in bases),
        head_calls=median(cost.calls for cost in heads),
        base_ns=median(cost.ns for cost in bases),
        head_ns=median(cost.ns for cost in heads),
    )
