"""The records as tables in markdown: a row a task, and the tasks of an agent joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tests.evidence.learning.records import Record, newest
from tests.evidence.learning.statistics import (
    Estimate,
    Scores,
    joined_mean,
    probability_of_improvement,
)
from tests.evidence.learning.tasks import OURS, SEEDS, TASKS, Task

HEAD: Final = (
    "| task | steps | n | final, ours | final, beside | best, ours | best, beside "
    "| P(ours better), final | |"
)
JOINED: Final = "| agent | tasks | final, ours | final, beside | P(ours better), final | |"
LEVEL: Final = 0.5
# Of 4 and 4 runs all of one side are above all of the other by chance in 2 of 70 cases, of 3 and 3
# in 2 of 20: with fewer nothing is beyond noise, and the interval of a bootstrap is far too short.
LEAST: Final = 4

Pair = tuple[list[Record], list[Record]]


def render(records: Sequence[Record]) -> str:
    if not records:
        return "Nothing was trained yet.\n"
    pairs = {task: pair for task in TASKS if any(pair := pair_of(task, records))}
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    lines += [row(task, *pair) for task, pair in pairs.items()]
    by_agent: dict[str, list[Task]] = {}
    for task, pair in pairs.items():
        if min(map(len, pair)) >= LEAST:
            by_agent.setdefault(task.agent, []).append(task)
    if by_agent:
        lines += ["", JOINED, "|---" * (JOINED.count("|") - 1) + "|"]
    lines += [joined(agent, tasks, pairs) for agent, tasks in by_agent.items()]
    return "\n".join([*lines, "", *circumstances([r for pair in pairs.values() for r in pair])])


def pair_of(task: Task, records: Sequence[Record]) -> Pair:
    """What ours has of it, and the other side; empty where there is none."""
    others = [side for side in task.sides if side != OURS]
    return newest(task, OURS, records), newest(task, others[0], records) if others else []


def scores(records: Sequence[Record], of: Callable[[Record], float]) -> Scores:
    return np.array([of(record) for record in records])


def final(record: Record) -> float:
    return record.played.final


def best(record: Record) -> float:
    return record.played.best


def row(task: Task, ours: Sequence[Record], theirs: Sequence[Record]) -> str:
    enough = min(len(ours), len(theirs)) >= LEAST
    improved = improvement([(task, ours, theirs)]) if enough else None
    n = f"{len(ours)}" if len(theirs) in (0, len(ours)) else f"{len(ours)}, {len(theirs)}"
    cells = [
        f"{task.name}",
        f"{task.steps:,}",
        n,
        *(mean_of(side, of) for of in (final, best) for side in (ours, theirs)),
        "" if improved is None else estimate(improved, ".2f"),
        verdict(task, ours, theirs, improved),
    ]
    return f"| {' | '.join(cells)} |"


def mean_of(records: Sequence[Record], of: Callable[[Record], float]) -> str:
    if not records:
        return ""
    found = estimate(joined_mean([scores(records, of)]), "digits")
    return found if len(records) >= LEAST else found.partition(" ")[0]


def estimate(found: Estimate, style: str) -> str:
    """Value and interval with as many digits as tell them apart, and real minus signs."""
    if style == "digits":
        style = ".0f" if abs(found.value) >= 100 else ".1f" if abs(found.value) >= 10 else ".2f"
    value, low, high = (f"{number:{style}}".replace("-", "−") for number in found)
    return f"{value} [{low}, {high}]"


def improvement(sides: Sequence[tuple[Task, Sequence[Record], Sequence[Record]]]) -> Estimate:
    return probability_of_improvement(
        [(scores(ours, final), scores(theirs, final)) for _, ours, theirs in sides]
    )


def verdict(
    task: Task, ours: Sequence[Record], theirs: Sequence[Record], improved: Estimate | None
) -> str:
    words = ["too few seeds"] if ours and theirs else []
    if improved is not None:
        words = [beyond_noise(improved)]
    if task.wanted is not None and ours:
        missed = sum(record.played.best < task.wanted for record in ours)
        goal = f"best at least {task.wanted:g}".replace("-", "−")
        words.append(f"{goal}: missed by {missed} of {len(ours)}" if missed else f"{goal}: all")
    return "; ".join(words)


def beyond_noise(improved: Estimate) -> str:
    if improved.high < LEVEL:
        return "worse"
    return "better" if improved.low > LEVEL else "level"


def joined(agent: str, tasks: Sequence[Task], pairs: dict[Task, Pair]) -> str:
    """Scores count from a task's floor, 0, to its goal, 1."""

    def scaled(side: int) -> str:
        strata = [(scores(pairs[t][side], final) - t.floor) / (t.goal - t.floor) for t in tasks]
        return estimate(joined_mean(strata), ".2f")

    improved = improvement([(task, *pairs[task]) for task in tasks])
    cells = [agent, str(len(tasks)), scaled(0), scaled(1), estimate(improved, ".2f")]
    return f"| {' | '.join([*cells, beyond_noise(improved)])} |"


def circumstances(sides: Sequence[Sequence[Record]]) -> list[str]:
    records = [record for side in sides for record in side]
    last = max(records, key=lambda record: record.date)
    versions: dict[str, str] = {}
    for record in records:
        versions |= record.versions
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    codes = sorted({record.code for record in records if record.side == OURS})
    days = sorted({record.date[:10] for record in records})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return [
        f"{when}, {last.machine}, {last.cores} cores, one thread each; {named}; "
        f"code of rl_impls {', '.join(codes)}. n of {len(SEEDS)} seeds. Interquartile means of "
        "greedy returns with 95 % stratified bootstrap intervals (Agarwal et al., 2021).",
        "",
    ]
