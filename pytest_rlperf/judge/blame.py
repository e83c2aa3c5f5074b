"""Which functions account for a change, as far as profiles can tell.

A function's change is the difference of its time on both sides, one value for each pair of fresh
processes. Pairs are what varies: counting slices as independent would find a culprit in every
comparison of code with itself. A function is blamed when its change lies beyond the spread between
pairs, corrected for the number of functions that are looked at, and is a fair part of the whole; or
when it is called more often, or calls a library more often, in every process of one side alike:
that is no estimate, and stated as certain. Where those blamed do not add up to a fair part of the
change that was measured without a profiler, nobody is.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pytest_rlperf.judge.estimate import estimate
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.profile import Cost, Function, SideProfile
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.why import Cause, Count, Explanation

DOUBT = 0.003
"""That anybody is blamed where nothing changed, divided by the functions that matter."""
MATTERS = 0.02
"""Of the time: a function that takes less on both sides cannot be to blame for much."""
LEAST_CHANGE = 0.02
"""Of the base's time: memory layout alone moves single functions by as much."""
LEAST_EXPLAINED = 1 / 3
"""Of the measured change."""
LEAST_SHARE = 0.10
"""Of the change, for a function whose calls did not change."""
LEAST_OTHERS = 3
OTHERS_SHARE = 0.2
"""Functions, and their share of the time, that tell how fast the machine was."""
LEAST_CERTAIN_SHARE = 0.02
"""For one whose calls did."""
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
    pairs: Sequence[ProfiledPair]
    by_mean: bool  # only some calls changed: the typical slice would not show it

    def cost_ns(self, side: SideProfile, function: Function) -> float:
        cost = side.functions.get(function, ABSENT)
        return cost.mean_ns if self.by_mean else cost.typical_ns

    def base_ns(self) -> float:
        return _mean(pair.base.total_ns(self.by_mean) for pair in self.pairs)

    def changes_ns(self, function: Function) -> list[float]:
        """One a pair, as if all pairs had met the machine at the same speed."""
        base_ns = self.base_ns()
        return [self._change(pair, function) * base_ns for pair in self.pairs]

    def total_changes_ns(self) -> list[float]:
        mean = self.by_mean
        return [pair.head.total_ns(mean) - pair.base.total_ns(mean) for pair in self.pairs]

    def _change(self, pair: ProfiledPair, function: Function) -> float:
        """Of the pair's base time."""
        head_ns, base_ns = (self.cost_ns(side, function) for side in pair)
        return (head_ns / self._pace(pair, function) - base_ns) / pair.base.total_ns(self.by_mean)

    def _pace(self, pair: ProfiledPair, function: Function) -> float:
        """How much longer the other functions take at head: a moment in which the machine is
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
    """Of pairs of a value and its weight."""
    half = sum(weight for _, weight in values) / 2
    for value, weight in sorted(values):
        half -= weight
        if half <= 0:
            return value
    raise ValueError("there is no median of nothing")


def explain(pairs: Sequence[ProfiledPair], measured: float | None, by_mean: bool) -> Explanation:
    """`measured` is the change without the profiler, where there was one to measure."""
    if len(pairs) < LEAST_BLOCKS:
        said = f"only {len(pairs)} pairs of processes could be profiled"
        return Explanation(pairs=len(pairs), note=said)
    computing = _mean(pair.head.computing for pair in pairs)
    profiles = _Profiles(pairs, by_mean or computing < WAITING)
    base_ns = profiles.base_ns()
    total_ns = estimate(profiles.total_changes_ns()).mean
    found = _blamed(profiles, base_ns, total_ns)
    blamed_ns = sum(cause.change_ns for cause in found)
    explained = measured is None or blamed_ns >= LEAST_EXPLAINED * measured * base_ns
    # The sum of those blamed may exceed the whole where another function became faster.
    whole_ns = max(total_ns, blamed_ns)
    shared = [replace(cause, share=cause.change_ns / whole_ns) for cause in found]
    causes = [c for c in shared if c.share >= LEAST_CERTAIN_SHARE and (explained or _is_certain(c))]
    change = total_ns / base_ns if base_ns else 0.0
    return Explanation(
        causes=tuple(sorted(causes, key=lambda cause: cause.share, reverse=True)[:MOST_CAUSES]),
        pairs=len(pairs),
        change=change,
        computing=computing,
        note=None if causes else _why_nobody(change, measured if found else None, len(pairs)),
    )


def _blamed(profiles: _Profiles, base_ns: float, total_ns: float) -> list[Cause]:
    candidates = [_cause(profiles, function) for function in _functions(profiles.pairs)]
    mattering = sum(_matters(profiles, cause.function, base_ns) for cause in candidates)
    doubt = DOUBT / max(1, mattering)
    least_ns = max(LEAST_CHANGE * base_ns, LEAST_SHARE * total_ns)
    return [
        cause
        for cause in candidates
        if cause.change_ns > 0
        and (
            _is_certain(cause)
            or (cause.change_ns >= least_ns and _is_clear(profiles, cause.function, doubt))
        )
    ]


def _matters(profiles: _Profiles, function: Function, base_ns: float) -> bool:
    times = (profiles.cost_ns(side, function) for pair in profiles.pairs for side in pair)
    return max(times) >= MATTERS * base_ns


def _is_clear(profiles: _Profiles, function: Function, doubt: float) -> bool:
    return estimate(profiles.changes_ns(function)).bound(doubt) > 0


def _functions(pairs: Iterable[ProfiledPair]) -> list[Function]:
    return sorted({name for pair in pairs for side in pair for name in side.functions})


def _is_certain(cause: Cause) -> bool:
    """It is called more often, or calls something outside of the project more often."""
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
    """Of calls of a function, or of those that it makes of `callee`."""
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
    """Those that take most time first."""
    spent: defaultdict[str, float] = defaultdict(float)
    for cost in (*heads, *bases):
        for name, callee in cost.callees.items():
            spent[name] += callee.ns
    for name in sorted(spent, key=spent.__getitem__, reverse=True):
        count = _count(heads, bases, pairs, name)
        if count.changed:
            yield name, count


def _why_nobody(change: float, measured: float | None, pairs: int) -> str:
    """`measured` where somebody could be blamed, but for less than it takes to explain it."""
    if measured is None:
        return f"no function took longer beyond the spread of {pairs} pairs of profiles"
    return (
        f"what the profiler sees ({format_percent(change)}) does not explain what was measured "
        f"without it ({format_percent(measured)})"
    )


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)
