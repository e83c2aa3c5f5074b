"""Which functions account for a change, as far as profiles can tell.

A function's change is the difference of its time on both sides, one value for each pair of fresh
processes. Pairs are what varies: counting slices as independent would find a culprit in every
comparison of code with itself. A function is blamed when its change lies beyond the spread between
pairs, corrected for the number of functions that are looked at, and is a fair part of the whole; or
when it is called more often, or calls a library more often, in every process of one side alike:
that is no estimate, and stated as certain. Where those blamed do not add up to a fair part of the
change that was measured without a profiler, nobody is.

Functions whose source changed are few, and nearly always the culprit: half of the doubt is theirs
(weighted hypotheses: Genovese, Roeder & Wasserman, Biometrika 93, 2006). With one of them and ten
others, its change has to be twice its error after eight pairs where it had to be four times.

Before that, time outside of the project is charged to the functions of the project that spend it
(`charged`). Beside the functions that are blamed stand the lines of one of them on both sides
(`compare_lines`) and the operators of torch that moved (`compare_operators`).
"""

import difflib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple, TypeVar

from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.profile import (
    Cause,
    ComparedLine,
    Cost,
    Count,
    Explanation,
    Function,
    LineCost,
    LineProfile,
    Lines,
    Operator,
    OperatorCost,
    SideProfile,
)
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.stats.estimate import estimate

DOUBT = 0.01
"""The chance that anybody is blamed where nothing changed, in all looks together, divided by the
functions that matter."""
LOOKS = (4, 8, 16, 24)
"""The pairs after which it is asked who is to blame: four show a large change, 24 one of 6 %."""
MATTERS = 0.02
"""A function that takes a smaller share of the time on both sides cannot be to blame for much."""
LEAST_CHANGE = 0.02
"""The least change to blame, as a share of the base's time: memory layout alone moves single
functions by as much."""
LEAST_EXPLAINED = 1 / 3
"""The least share of the measured change that those blamed must explain."""
MOST_SEEN = 3.0
SLACK = 0.10
"""A change under the profiler that is more than so many times, and by so much larger than, what was
measured without it is of the moment, or of the profiler: it explains nothing."""
LEAST_SHARE = 0.10
"""The least share of the change that a function is blamed for whose calls did not change."""
LEAST_OTHERS = 3
OTHERS_SHARE = 0.2
"""The least number of functions, and their share of the time, that tell how fast the machine was.
"""
LEAST_CERTAIN_SHARE = 0.02
"""The least share for a function whose calls did change."""
MOST_CAUSES = 5
WAITING = 0.2
"""A test that computes for less of its time than this waits."""

ABSENT = Cost(0, 0.0, 0.0)


class ProfiledPair(NamedTuple):
    """Two processes that were profiled in turns."""

    head: SideProfile
    base: SideProfile


@dataclass(frozen=True, slots=True)
class _Profiles:
    """All pairs of one test, read by the typical slice or by the mean."""

    pairs: Sequence[ProfiledPair]
    by_mean: bool  # only some calls changed: the typical slice would not show it

    def cost_ns(self, side: SideProfile, function: Function) -> float:
        cost = side.functions.get(function, ABSENT)
        return cost.mean_ns if self.by_mean else cost.typical_ns

    def base_ns(self) -> float:
        return _mean(pair.base.total_ns(self.by_mean) for pair in self.pairs)

    def changes_ns(self, function: Function) -> list[float]:
        """Return a function's change in each pair, as if all had met the machine at one speed."""
        base_ns = self.base_ns()
        return [self._change(pair, function) * base_ns for pair in self.pairs]

    def total_changes_ns(self) -> list[float]:
        mean = self.by_mean
        return [pair.head.total_ns(mean) - pair.base.total_ns(mean) for pair in self.pairs]

    def _change(self, pair: ProfiledPair, function: Function) -> float:
        """Return a function's change as a share of the pair's base time."""
        head_ns, base_ns = (self.cost_ns(side, function) for side in pair)
        return (head_ns / self._pace(pair, function) - base_ns) / pair.base.total_ns(self.by_mean)

    def _pace(self, pair: ProfiledPair, function: Function) -> float:
        """Return how much longer the other functions take at head: a moment in which the machine is
        slower hits all of them. Their median, so that it takes more than one change to move it; 1
        where there are too few others to tell.
        """
        total_ns = pair.base.total_ns(self.by_mean)
        others = [
            (self.cost_ns(pair.head, other) / ns, ns)
            for other in pair.base.functions
            if other != function and (ns := self.cost_ns(pair.base, other)) >= MATTERS * total_ns
        ]
        if len(others) < LEAST_OTHERS or sum(ns for _, ns in others) < OTHERS_SHARE * total_ns:
            return 1.0
        return weighted_median(others) or 1.0


def weighted_median(values: Sequence[tuple[float, float]]) -> float:
    """Return the weighted median of pairs of a value and its weight."""
    half = sum(weight for _, weight in values) / 2
    for value, weight in sorted(values):
        half -= weight
        if half <= 0:
            return value
    raise ValueError("there is no median of nothing")


def explain(
    pairs: Sequence[ProfiledPair],
    measured: float | None,
    by_mean: bool,
    suspects: Set[Function] = frozenset(),
) -> Explanation:
    """Blame functions for a change; `measured` is that without the profiler, if there was one, and
    `suspects` are those whose source changed.
    """
    computing = _mean(pair.head.computing for pair in pairs) if pairs else 1.0
    by_mean = by_mean or computing < WAITING
    # Where taking the profiler's own time off left nothing, there is nothing to compare.
    pairs = [pair for pair in pairs if all(side.total_ns(by_mean) > 0 for side in pair)]
    if len(pairs) < LEAST_BLOCKS:
        note = f"only {len(pairs)} pairs of processes could be profiled"
        return Explanation(pairs=len(pairs), note=note)
    profiles = _Profiles(pairs, by_mean)
    base_ns = profiles.base_ns()
    total_ns = estimate(profiles.total_changes_ns()).mean
    blamed = _blamed(profiles, base_ns, total_ns, suspects)
    blamed_ns = sum(cause.change_ns for cause in blamed)
    change = total_ns / base_ns
    contradicts = measured is not None and change > max(MOST_SEEN * measured, measured + SLACK)
    explained = measured is None or (
        blamed_ns >= LEAST_EXPLAINED * measured * base_ns and not contradicts
    )
    # The sum of those blamed may exceed the whole where another function became faster.
    whole_ns = max(total_ns, blamed_ns)
    shared = [replace(cause, share=cause.change_ns / whole_ns) for cause in blamed]
    causes = [c for c in shared if c.share >= LEAST_CERTAIN_SHARE and (explained or _is_certain(c))]
    unexplained = measured if blamed or contradicts else None
    return Explanation(
        causes=tuple(sorted(causes, key=lambda cause: cause.share, reverse=True)[:MOST_CAUSES]),
        pairs=len(pairs),
        change=None if contradicts else change,
        computing=computing,
        note=None if causes else _why_nobody(change, unexplained, len(pairs)),
    )


def _blamed(
    profiles: _Profiles, base_ns: float, total_ns: float, suspects: Set[Function]
) -> list[Cause]:
    functions = {name for pair in profiles.pairs for side in pair for name in side.functions}
    candidates = [_cause(profiles, function) for function in sorted(functions)]
    mattering = {f for f in functions if _matters(profiles, f, base_ns)}
    least_ns = max(LEAST_CHANGE * base_ns, LEAST_SHARE * total_ns)

    def is_clear(cause: Cause) -> bool:
        doubt = _doubt(cause.function, mattering, suspects)
        changes = estimate(profiles.changes_ns(cause.function))
        return cause.change_ns >= least_ns and changes.bound(doubt) > 0

    slower = (cause for cause in candidates if cause.change_ns > 0)
    return [cause for cause in slower if _is_certain(cause) or is_clear(cause)]


def _doubt(function: Function, mattering: Set[Function], suspects: Set[Function]) -> float:
    """Return the chance to blame this function wrongly, in one look: suspects share one half of the
    doubt, and all others the other. Without a suspect the others have all of it.
    """
    suspected = mattering & suspects
    alike = suspected if function in suspected else mattering - suspected
    halves = 2 if suspected and mattering - suspected else 1
    return DOUBT / len(LOOKS) / halves / max(1, len(alike))


def _matters(profiles: _Profiles, function: Function, base_ns: float) -> bool:
    times = (profiles.cost_ns(side, function) for pair in profiles.pairs for side in pair)
    return max(times) >= MATTERS * base_ns


def _is_certain(cause: Cause) -> bool:
    """Return whether it is called more often, or calls more often outside of the project."""
    counts = (cause.calls, *(count for _, count in cause.callees))
    return any(count.changed and count.head > count.base for count in counts)


def _cause(profiles: _Profiles, function: Function) -> Cause:
    pairs = profiles.pairs
    heads = [pair.head.functions.get(function, ABSENT) for pair in pairs]
    bases = [pair.base.functions.get(function, ABSENT) for pair in pairs]
    calls = _count(heads, bases, pairs)
    head_ns = _mean(profiles.cost_ns(pair.head, function) for pair in pairs)
    base_ns = _mean(profiles.cost_ns(pair.base, function) for pair in pairs)
    ratio = None
    if calls.base and calls.head and base_ns:
        ratio = (head_ns / calls.head) / (base_ns / calls.base)
    return Cause(
        function=function,
        share=0.0,
        change_ns=estimate(profiles.changes_ns(function)).mean,
        calls=calls,
        time_ratio=ratio,
        callees=tuple(_changed_callees(heads, bases, pairs)),
        compiled=any(cost.compiled for cost in heads),
    )


def _count(
    heads: Sequence[Cost], bases: Sequence[Cost], pairs: Sequence[ProfiledPair], callee: str = ""
) -> Count:
    """Count the calls of a function, or those that it makes of `callee`."""
    head = [_calls(c, callee) / p.head.calls for c, p in zip(heads, pairs, strict=True)]
    base = [_calls(c, callee) / p.base.calls for c, p in zip(bases, pairs, strict=True)]
    return Count(_mean(base), _mean(head), certain=len(set(head)) == len(set(base)) == 1)


def _calls(cost: Cost, callee: str) -> int:
    if not callee:
        return cost.calls
    return cost.callees[callee].calls if callee in cost.callees else 0


def _changed_callees(
    heads: Sequence[Cost], bases: Sequence[Cost], pairs: Sequence[ProfiledPair]
) -> Iterable[tuple[str, Count]]:
    """Yield callees whose count changed, those that take most time first."""
    spent: defaultdict[str, float] = defaultdict(float)
    for cost in (*heads, *bases):
        for name, callee in cost.callees.items():
            spent[name] += callee.ns
    for name in sorted(spent, key=spent.__getitem__, reverse=True):
        count = _count(heads, bases, pairs, name)
        if count.changed:
            yield name, count


def _why_nobody(change: float, measured: float | None, pairs: int) -> str:
    """Say why nobody is blamed; `measured` is given where those found explain too little."""
    if measured is None:
        return f"no function took longer beyond the spread of {pairs} pairs of profiles"
    return (
        f"what the profiler sees ({format_percent(change)}) does not explain what was measured "
        f"without it ({format_percent(measured)})"
    )


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)


# -- charging time outside of the project --------------------------------------------------------

Name = TypeVar("Name", bound=Hashable)

SWEEPS = 200
"""Functions of a library that call each other pass time round: each sweep leaves less of it."""
NOTHING_LEFT = 1e-6


def charged(
    own: Mapping[Name, float], spent: Mapping[Name, Mapping[Name, float]], outside: Set[Name]
) -> dict[Name, float]:
    """Charge `own` time outside of the project to the functions of the project that spend it;
    `spent[caller][callee]` is what calls along that way took.

    Whoever asks why a test became slower wants to hear of a function that can be mended: of the one
    that began to copy, not of the copying. What a library's function takes is charged to its
    callers, in proportion to what it took when each of them called it, and so on until it reaches
    the project (Graham, Kessler & McKusick, gprof, SIGPLAN 1982). A library's function that nobody
    in the project called keeps its time.
    """
    callers = _callers(spent)
    amounts = dict(own)
    least = NOTHING_LEFT * sum(own.values())
    for _ in range(SWEEPS):
        due = [name for name in outside if amounts.get(name, 0.0) > least and name in callers]
        if not due:
            break
        for name in due:
            amount, amounts[name] = amounts[name], 0.0
            for caller, share in callers[name].items():
                amounts[caller] = amounts.get(caller, 0.0) + share * amount
    return {
        name: amount for name, amount in amounts.items() if name not in outside or amount > least
    }


def _callers(spent: Mapping[Name, Mapping[Name, float]]) -> dict[Name, dict[Name, float]]:
    """Return the callers of each function with their shares; itself is none."""
    times: dict[Name, dict[Name, float]] = {}
    for caller, callees in spent.items():
        for callee, ns in callees.items():
            if callee != caller and ns > 0:
                times.setdefault(callee, {})[caller] = ns
    return {
        callee: {caller: ns / sum(by_caller.values()) for caller, ns in by_caller.items()}
        for callee, by_caller in times.items()
    }


# -- the lines of one function on both sides, matched by their text ------------------------------


class _Line(NamedTuple):
    number: int
    text: str
    cost: LineCost | None


def compare_lines(function: str, head: Sequence[LineProfile], base: Sequence[LineProfile]) -> Lines:
    """Compare means over processes; no lines where head never ran the function."""
    if not head:
        return Lines(function, ())
    heads, bases = _lines(head), _lines(base)
    matcher = difflib.SequenceMatcher(
        None, [line.text for line in bases], [line.text for line in heads], autojunk=False
    )
    pairs = [pair for code in matcher.get_opcodes() for pair in _pairs(code, bases, heads)]
    return Lines(function, tuple(_compared_line(b, h) for b, h in pairs))


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


def _compared_line(base: _Line | None, head: _Line | None) -> ComparedLine:
    line = head or base
    assert line is not None
    return ComparedLine(
        number=head.number if head else None,
        text=line.text,
        hits=line.cost.hits if line.cost else 0.0,
        base_ns=base.cost.ns if base and base.cost else None,
        head_ns=head.cost.ns if head and head.cost else None,
    )


# -- operators of torch --------------------------------------------------------------------------

NO_OPERATOR = OperatorCost(0.0, 0.0)


def compare_operators(pairs: Sequence[ProfiledPair]) -> tuple[Operator, ...]:
    """Return the operators of torch that moved, the largest change first.

    They overlap with the functions that are blamed, which call them, so that they explain no share
    of their own: they are shown where the profiles of all pairs agree. An operator that is called
    more often in every process of one side is no estimate.
    """
    watched = [pair for pair in pairs if pair.head.operators and pair.base.operators]
    if len(watched) < LEAST_BLOCKS:
        return ()
    names = {name for pair in watched for side in pair for name in side.operators}
    base_ns = median(sum(c.ns for c in pair.base.operators.values()) for pair in watched)
    agreed = [_compared_operator(watched, name) for name in sorted(names) if _agree(watched, name)]
    moved = [operator for operator in agreed if abs(operator.change_ns) >= LEAST_CHANGE * base_ns]
    return tuple(sorted(moved, key=lambda each: -abs(each.change_ns))[:MOST_CAUSES])


def _costs(pairs: Sequence[ProfiledPair], name: str) -> list[tuple[OperatorCost, OperatorCost]]:
    return [
        (pair.head.operators.get(name, NO_OPERATOR), pair.base.operators.get(name, NO_OPERATOR))
        for pair in pairs
    ]


def _agree(pairs: Sequence[ProfiledPair], name: str) -> bool:
    """Return whether it is slower in all pairs, or quicker in all."""
    slower = {head.ns > base.ns for head, base in _costs(pairs, name)}
    return len(slower) == 1


def _compared_operator(pairs: Sequence[ProfiledPair], name: str) -> Operator:
    heads, bases = zip(*_costs(pairs, name), strict=True)
    return Operator(
        name,
        base_calls=median(cost.calls for cost in bases),
        head_calls=median(cost.calls for cost in heads),
        base_ns=median(cost.ns for cost in bases),
        head_ns=median(cost.ns for cost in heads),
    )
