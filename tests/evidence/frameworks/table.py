"""The last run as tables in markdown: rates, and ratios to the first row inside a round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, stdev

from pytest_rlperf.stats.estimate import t_quantile
from tests.evidence.frameworks.rows import SECTIONS, Section
from tests.evidence.peers.measured import Measured
from tests.evidence.peers.records import Record
from tests.evidence.peers.table import Rounds, circumstances, last_rounds

HEAD = ("", "{unit}", "beside the first [95 %]", "first call, s", "return", "rounds")


def render(records: Sequence[Record]) -> str:
    if not records:
        return "Nothing was measured yet.\n"
    last, rounds = last_rounds(records)
    parts = [part for section in SECTIONS if (part := section_of(section, rounds))]
    return "\n\n".join([*parts, f"`make frameworks`: {circumstances(last)}"]) + "\n"


def section_of(section: Section, rounds: Rounds) -> str:
    """With the columns that any row has something in."""
    rows = [cells for name in section.names if (cells := cells_of(section.names[0], name, rounds))]
    if not rows:
        return ""
    titles = [title.format(unit=section.unit) for title in HEAD]
    kept = [number for number, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    lines = [f"| {' | '.join(cells[number] for number in kept)} |" for cells in (titles, *rows)]
    lines.insert(1, "|---" * len(kept) + "|")
    return "\n".join([f"**{section.title}**", "", *lines])


def cells_of(first: str, name: str, rounds: Rounds) -> list[str]:
    found = [done[name] for done in rounds.values() if name in done]
    if not found:
        return []
    pairs = [(done[name], done[first]) for done in rounds.values() if {name, first} <= set(done)]
    ratios = [math.log(mine.per_s / other.per_s) for mine, other in pairs]
    return [
        name,
        f"{median(each.per_s for each in found):,.0f}",
        "1" if name == first else interval(ratios),
        middle(found, "compile_s", "{:.2f}"),
        middle(found, "mean_return", "{:.0f}"),
        str(len(found)),
    ]


def interval(logs: Sequence[float]) -> str:
    """The geometric mean, and Student's interval for it."""
    if not logs:
        return ""
    mean = fmean(logs)
    if len(logs) < 2:
        return f"{math.exp(mean):.3g}"
    half = t_quantile(0.975, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(mean - half), math.exp(mean + half)
    return f"{math.exp(mean):.3g} [{low:.3g}, {high:.3g}]"


def middle(found: Sequence[Measured], name: str, form: str) -> str:
    values = [value for each in found if (value := getattr(each, name)) is not None]
    return form.format(median(values)) if values else ""
