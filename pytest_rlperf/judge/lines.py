"""The lines of one function on both sides, matched by their text."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_rlperf.model.profile import LineCost, LineProfile
from pytest_rlperf.model.why import ComparedLine, Lines


class _Line(NamedTuple):
    number: int
    text: str
    cost: LineCost | None


def compare_lines(function: str, head: Sequence[LineProfile], base: Sequence[LineProfile]) -> Lines:
    """Means over processes; no lines where head never ran the function."""
    if not head:
        return Lines(function, ())
    heads, bases = _lines(head), _lines(base)
    matcher = difflib.SequenceMatcher(
        None, [line.text for line in bases], [line.text for line in heads], autojunk=False
    )
    pairs = [pair for code in matcher.get_opcodes() for pair in _pairs(code, bases, heads)]
    return Lines(function, tuple(_compared(b, h) for b, h in pairs))


def _lines(profiles: Sequence[LineProfile]) -> list[_Line]:
    if not profiles:
        return []
    first = profiles[0]
    costs = _mean_costs(profiles)
    return [
        _Line(number, text, costs.get(number))
        for number, text in enumerate(first.source, start=first.first)
    ]


def _mean_costs(profiles: Sequence[LineProfile]) -> Mapping[int, LineCost]:
    def mean(number: int, part: Callable[[LineCost], float]) -> float:
        costs = [profile.lines.get(number, LineCost(0, 0)) for profile in profiles]
        return sum(map(part, costs)) / len(costs)

    numbers = {number for profile in profiles for number in profile.lines}
    return {n: LineCost(mean(n, lambda c: c.hits), mean(n, lambda c: c.ns)) for n in numbers}


def _pairs(
    code: tuple[str, int, int, int, int], bases: Sequence[_Line], heads: Sequence[_Line]
) -> Iterator[tuple[_Line | None, _Line | None]]:
    kind, base_from, base_to, head_from, head_to = code
    if kind == "equal":
        yield from zip(bases[base_from:base_to], heads[head_from:head_to], strict=True)
        return
    yield from ((line, None) for line in bases[base_from:base_to])
    yield from ((None, line) for line in heads[head_from:head_to])


def _compared(base: _Line | None, head: _Line | None) -> ComparedLine:
    line = head or base
    assert line is not None
    return ComparedLine(
        number=head.number if head else None,
        text=line.text,
        hits=line.cost.hits if line.cost else 0.0,
        base_ns=base.cost.ns if base and base.cost else None,
        head_ns=head.cost.ns if head and head.cost else None,
    )
