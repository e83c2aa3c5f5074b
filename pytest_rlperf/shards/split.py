"""Which shard runs which test: an answer that all shards reach alone, without a word between them.

So nothing goes into it but what all of them have: the node ids that they collected, the markers of
the tests, and seconds from a file that they share. What differs from machine to machine (a cache,
the number of cores, the hour) does not. Seconds are counted in whole milliseconds, and names are
put in order by a hash that is the same in every process: there is neither rounding nor a set whose
order could differ.

The longest tests are dealt first, each to the shard that has least to do so far: at worst a third
longer than the best split (Graham, SIAM J. Appl. Math. 17, 1969). Tests that are judged together
stay together: all sizes of an input or of a job, and the two tests of an overhead KPI.
"""

import hashlib
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.kpi import WITHOUT
from pytest_rlperf.mpi.scaling import family as family_of_jobs

UNKNOWN_MS = 1000
"""The weight of every test where the seconds of none are known."""


@dataclass(frozen=True, slots=True)
class Split:
    """The tests of a suite by shard."""

    shards: tuple[frozenset[str], ...]

    @property
    def digest(self) -> str:
        """A few letters that are the same only for the same split."""
        lines = (f"{index} {n}\n" for index, each in enumerate(self.shards) for n in sorted(each))
        return hashlib.sha256("".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]


def split(
    benchmarks: Sequence[Benchmark], count: int, seconds: Mapping[str, float] | None = None
) -> Split:
    """Share a suite out to `count` shards; `seconds` are those of earlier runs, by node id. A test
    that has none counts for as much as the typical one.
    """
    weights_ms = _weights_ms([b.nodeid for b in benchmarks], seconds or {})
    units = [(sum(weights_ms[n] for n in unit), unit) for unit in together(benchmarks)]
    units.sort(key=lambda each: (-each[0], _draw(each[1][0])))
    loads = [(0, 0)] * count  # milliseconds, then tests
    shards: list[set[str]] = [set() for _ in range(count)]
    for weight_ms, unit in units:
        k = min(range(count), key=lambda index: (loads[index], index))
        shards[k].update(unit)
        loads[k] = (loads[k][0] + weight_ms, loads[k][1] + len(unit))
    return Split(tuple(map(frozenset, shards)))


def _weights_ms(nodeids: Iterable[str], seconds: Mapping[str, float]) -> dict[str, int]:
    nodeids = list(nodeids)
    known = {n: max(1, round(1000 * seconds[n])) for n in nodeids if n in seconds}
    usual = statistics.median_low(known.values()) if known else UNKNOWN_MS
    return {nodeid: known.get(nodeid, usual) for nodeid in nodeids}


def _draw(nodeid: str) -> str:
    """Return what puts names in an order that no folder or letter is favoured by."""
    return hashlib.sha256(nodeid.encode(errors="surrogatepass")).hexdigest()


# -- what stays together ------------------------------------------------------------------------


def together(benchmarks: Sequence[Benchmark]) -> list[list[str]]:
    """Return the node ids of tests that one shard has to run, each group and all of them sorted."""
    priced = {
        claim.removesuffix(WITHOUT)
        for b in benchmarks
        for claim in b.spec.kpi
        if claim.endswith(WITHOUT)
    }
    group_of: dict[str, str] = {}  # a tie to the node id that stands for its group
    members: dict[str, list[str]] = {}
    for nodeid, ties in sorted((b.nodeid, list(_ties(b, priced))) for b in benchmarks):
        found = sorted({group_of[tie] for tie in ties if tie in group_of})
        own = [nodeid, *(each for group in found for each in members.pop(group))]
        members[nodeid] = own
        group_of |= dict.fromkeys(ties, nodeid)
        group_of |= {tie: nodeid for tie, group in group_of.items() if group in found}
    return sorted(sorted(group) for group in members.values())


def _ties(b: Benchmark, priced: Iterable[str]) -> Iterator[str]:
    """Yield what a test has in common with those it is judged with."""
    if b.input_size is not None:
        yield f"sizes of {b.family}"
    if b.size is not None:
        yield f"ranks of {family_of_jobs(b.nodeid)}"
    for claim in b.spec.kpi:
        if (name := claim.removesuffix(WITHOUT)) in priced:
            yield f"overhead {name}"
