"""Which functions account for a change, as far as profiles can tell.

A function's change is the difference of its time on both sides, one value for each pair of fresh
processes. Pairs are what varies: counting slices as independent would find a culprit in every
comparison of code with itself. Somebody is blamed only when

- the time under the profiler changed as a whole, beyond the spread between pairs;
- the profiler sees a fair part of the change that was measured without it;
- the function's own change lies beyond the spread and is a fair part of the whole,

or when it is called another number of times, in every process of one side alike: that is no
estimate, and stated as certain.
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

DOUBT = 0.005
"""That a change which is none lies beyond its bound; some thirty functions are looked at."""
LEAST_CHANGE = 0.01
"""Of the base's time: memory layout alone moves single functions by less, and total time too."""
LEAST_SEEN = 1 / 3
"""Of the measured change: a profiler that sees less of it looks at something else."""
LEAST_SHARE = 0.10
"""Of the change, for a function whose calls did not change."""
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

    def changes_ns(self, function: Function) -> list[float]:
        return [self.cost_ns(p.head, function) - self.cost_ns(p.base, function) for p in self.pairs]

    def base_ns(self) -> float:
        return _mean(pair.base.total_ns(self.by_mean) for pair in self.pairs)

    def total_changes_ns(self) -> list[float]:
        mean = self.by_mean
        return [pair.head.total_ns(mean) - pair.base.total_ns(mean) for pair in self.pairs]


def explain(pairs: Sequence[ProfiledPair], measured: float | None, by_mean: bool) -> Explanation:
    """`measured` is the change without the profiler, where there was one to measure."""
    if len(pairs) < LEAST_BLOCKS:
        return Explanation(
            pairs=len(pairs), note=f"only {len(pairs)} pairs of processes could be profiled"
        )
    computing = _mean(pair.head.computing for pair in pairs)
    profiles = _Profiles(pairs, by_mean or computing < WAITING)
    total = estimate(profiles.total_changes_ns())
    base_ns = profiles.base_ns()
    change = total.mean / base_ns if base_ns else 0.0
    candidates = [_cause(profiles, function) for function in _functions(pairs)]
    moved = total.bound(DOUBT) > 0 and change >= LEAST_CHANGE
    seen = measured is None or change >= LEAST_SEEN * measured
    found = [
        cause
        for cause in candidates
        if cause.change_ns > 0
        and (_is_certain(cause) or (moved and seen and _is_clear(profiles, cause, total.mean)))
    ]
    # The sum of those blamed may exceed the whole where another function became faster.
    whole_ns = max(total.mean, sum(cause.change_ns for cause in found))
    shared = (replace(cause, share=cause.change_ns / whole_ns) for cause in found)
    causes = sorted(
        (cause for cause in shared if cause.share >= LEAST_CERTAIN_SHARE),
        key=lambda cause: cause.share,
        reverse=True,
    )
    return Explanation(
        causes=tuple(causes[:MOST_CAUSES]),
        pairs=len(pairs),
        change=change,
        computing=computing,
        note=None if causes else _why_nobody(moved, seen, change, measured, len(pairs)),
    )


def _functions(pairs: Iterable[ProfiledPair]) -> list[Function]:
    return sorted({name for pair in pairs for side in pair for name in side.functions})


def _is_certain(cause: Cause) -> bool:
    return cause.calls.changed and cause.calls.head > cause.calls.base


def _is_clear(profiles: _Profiles, cause: Cause, total_ns: float) -> bool:
    beyond = estimate(profiles.changes_ns(cause.function)).bound(DOUBT) > 0
    return beyond and cause.change_ns >= LEAST_SHARE * total_ns


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


def _why_nobody(moved: bool, seen: bool, change: float, measured: float | None, pairs: int) -> str:
    if moved and not seen and measured is not None:
        return (
            f"the profiler sees {format_percent(change)} where {format_percent(measured)} was "
            "measured without it, so it blames nobody"
        )
    if moved:
        return f"no single function took longer beyond the spread of {pairs} pairs of profiles"
    return f"under the profiler nothing took longer beyond the spread of {pairs} pairs of profiles"


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)
