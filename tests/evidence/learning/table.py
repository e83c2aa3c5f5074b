"""The records as a table in markdown: of every agent, the newest code that was trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from tests.evidence.learning.goals import GOALS, SEEDS, Goal
from tests.evidence.learning.records import Record

HEAD = "| agent | environment | steps | wanted | seeds | mean return | | steps/s |"


def render(records: Sequence[Record]) -> str:
    if not records:
        return "Nothing was trained yet.\n"
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    lines += [row(goal, newest(goal, records)) for goal in GOALS]
    return "\n".join([*lines, "", circumstances(records)]) + "\n"


def newest(goal: Goal, records: Iterable[Record]) -> list[Record]:
    """One a seed, of the code that was trained last."""
    mine = [r for r in records if (r.agent, r.env) == (goal.agent, goal.env)]
    if not mine:
        return []
    last = max(mine, key=lambda record: record.date)
    same = {r.seed: r for r in mine if (r.tree, r.machine) == (last.tree, last.machine)}
    return [same[seed] for seed in sorted(same)]


def row(goal: Goal, records: Sequence[Record]) -> str:
    start = f"| {goal.agent} | `{goal.env}` | {goal.steps:,} | {number(goal.mean_return, 'g')} |"
    if not records:
        return f"{start} – | – | not trained | – |"
    seeds = ", ".join(str(record.seed) for record in records)
    returns = ", ".join(number(record.mean_return, ".1f") for record in records)
    speed = median(record.steps / record.seconds for record in records)
    return f"{start} {seeds} | {returns} | {verdict(records)} | {speed:,.0f} |"


def number(value: float, style: str) -> str:
    """With a real minus sign."""
    return f"{value:{style}}".replace("-", "−")


def verdict(records: Sequence[Record]) -> str:
    n_missed = sum(not record.reached for record in records)
    if n_missed:
        return f"missed by {n_missed} of {len(records)}"
    return "reached" if len(records) >= len(SEEDS) else f"reached; {len(records)} of {len(SEEDS)}"


def circumstances(records: Sequence[Record]) -> str:
    last = max(records, key=lambda record: record.date)
    versions = ", ".join(f"{name} {version}" for name, version in last.versions.items())
    return (
        f"{last.date[:10]}, {last.machine}, {last.cores} cores, one thread; {versions}. "
        f"Mean return of {last.games} greedy episodes of the best validated checkpoint."
    )
