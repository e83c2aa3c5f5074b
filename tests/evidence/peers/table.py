"""The last run as a table in markdown; a ratio is the median of those inside a round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev

from tests.evidence.peers.measured import Measured
from tests.evidence.peers.records import Record, Run, newest
from tests.evidence.peers.rows import ROWS, Row

HEAD = (
    "| | rl_impls | the other | rounds | ratio (range) | wanted | "
    "| mean return ± standard error, beside | of matmul's FLOP/s |"
)
Rounds = dict[int, dict[str, Measured]]


def render(records: Sequence[Record]) -> str:
    if not records:
        return "Nothing was measured yet.\n"
    last, rounds = last_rounds(records)
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    lines += [line for row in ROWS if (line := line_of(row, rounds))]
    return "\n".join([*lines, "", circumstances(last)]) + "\n"


def last_rounds(records: Sequence[Record]) -> tuple[Run, Rounds]:
    """Of the newest run, who was measured in each."""
    last = newest(records)
    rounds: Rounds = {}
    for record in records:
        if record.run == last:
            rounds.setdefault(record.round, {})[record.contestant] = record.measured
    return last, rounds


def line_of(row: Row, rounds: Rounds) -> str:
    """Nothing where a side is missing."""
    pairs = [pair for measured in rounds.values() if (pair := pair_of(row, measured))]
    if not pairs:
        return ""
    ratios = [ours.per_s / theirs.per_s for ours, theirs in pairs]
    sides = [
        f"{median(side.per_s for side in sides):,.0f} {row.unit}"
        for sides in zip(*pairs, strict=True)
    ]
    shares = [ours.share for ours, _ in pairs if ours.share is not None]
    cells = [
        row.name,
        *sides,
        str(len(pairs)),
        f"{median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})",
        "" if row.wanted is None else f"{row.wanted:.3g}",
        verdict(median(ratios), row.wanted),
        returns_of(pairs),
        f"{median(shares):.0%}" if shares else "",
    ]
    return f"| {' | '.join(cells)} |"


def pair_of(row: Row, measured: Mapping[str, Measured]) -> tuple[Measured, Measured] | None:
    """Our side and the other; None: one of them is missing."""
    ours = measured.get(row.ours)
    if ours is None:
        return None
    if row.theirs is None:
        return None if ours.beside_per_s is None else (ours, Measured(ours.beside_per_s))
    theirs = measured.get(row.theirs)
    return None if theirs is None else (ours, theirs)


def verdict(ratio: float, wanted: float | None) -> str:
    if wanted is None:
        return ""
    return "reached" if ratio >= wanted else "missed"


def returns_of(pairs: Sequence[tuple[Measured, Measured]]) -> str:
    """Means over the rounds, at equal steps; ours is wanted to be no lower."""
    ours = [mine.mean_return for mine, _ in pairs if mine.mean_return is not None]
    theirs = [other.mean_return for _, other in pairs if other.mean_return is not None]
    if not ours or not theirs:
        return ""
    missed = ": missed" if fmean(ours) < fmean(theirs) else ""
    return f"{spread(ours)}, {spread(theirs)}{missed}"


def spread(returns: Sequence[float]) -> str:
    """The mean and, where they differ, its standard error."""
    if len(set(returns)) == 1:
        return f"{returns[0]:.1f}"
    return f"{fmean(returns):.1f} ± {stdev(returns) / math.sqrt(len(returns)):.1f}"


def circumstances(run: Run) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    return (
        f"{run.date[:10]}, {run.machine}, {run.cores} cores; one thread each, CPU time, medians of "
        f"the rounds, sizes {run.sizes}; {versions}."
    )
