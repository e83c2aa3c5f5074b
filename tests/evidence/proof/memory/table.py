"""The records of the proof of memory as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pytest_rlperf.prove.rates import rate_of

from .suite import EXPECTED, GROWN, SAME, TITLES

Record = dict[str, Any]


def render(records: Sequence[Record]) -> str:
    """Markdown, with machine, versions and dates of what was measured."""
    if not records:
        return "Nothing was measured yet.\n"
    lines = [
        "| what | verdicts | regressed | 95 % bounds | other outcomes |",
        "|---|---|---|---|---|",
    ]
    lines.append(_row("nothing changed, all metrics", of_case(records, SAME)))
    for test, metric in EXPECTED.items():
        found = [r for r in of_case(records, GROWN) if (r["test"], r["metric"]) == (test, metric)]
        lines.append(_row(f"{TITLES[test]} (`{metric}`)", found))
    return "\n".join([*lines, "", _facts(records)]) + "\n"


def of_case(records: Sequence[Record], case: str) -> list[Record]:
    return [record for record in records if record["case"] == case]


def _row(title: str, found: Sequence[Record]) -> str:
    outcomes = Counter(record["outcome"] for record in found)
    hits, n = outcomes.pop("regressed", 0), len(found)
    bounds = ""
    if n:
        rate = rate_of(hits, n)
        bounds = f"{100 * rate.low:.2g} to {100 * rate.high:.3g} %"
    others = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    return f"| {title} | {n} | {hits} | {bounds} | {others} |"


def _facts(records: Sequence[Record]) -> str:
    facts = [record["facts"] for record in records]
    dates = sorted(each["date"][:10] for each in facts)
    suites = len({record["suite"] for record in records})
    machine = sorted({f"{each['machine']}, {each['cores']} cores" for each in facts})
    python = sorted({each["python"] for each in facts})
    commits = sorted({each["commit"] for each in facts})
    return (
        f"{suites} suites of {len(EXPECTED)} tests, {dates[0]} to {dates[-1]}, "
        f"{'; '.join(machine)}, Python {', '.join(python)}, revision {', '.join(commits)}."
    )
