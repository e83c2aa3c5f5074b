"""From records to figures, and from figures to a judgement: pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev

from pytest_rlperf.model.result import Rate
from pytest_rlperf.prove.rates import rate_of

from .cases import Case, Requirement
from .records import Record


@dataclass(frozen=True)
class Figures:
    """What a group of verdicts shows; None where nothing of the kind was measured."""

    n: int
    crashes: int
    outcomes: Counter[str]
    covered: Rate | None
    mean_change: float | None
    sd_change: float | None
    median_seconds: float | None
    max_seconds: float | None

    def share(self, outcome: str) -> Rate:
        return rate_of(self.outcomes[outcome], self.n)


def summarise(records: Sequence[Record]) -> Figures:
    verdicts = [record for record in records if not record.is_crash]
    changes = [r.verdict.change for r in verdicts if r.verdict.change is not None]
    seconds = [record.seconds for record in verdicts]
    return Figures(
        n=len(verdicts),
        crashes=len(records) - len(verdicts),
        outcomes=Counter(record.verdict.outcome for record in verdicts),
        covered=coverage(verdicts),
        mean_change=mean(changes) if changes else None,
        sd_change=stdev(changes) if len(changes) > 1 else None,
        median_seconds=median(seconds) if seconds else None,
        max_seconds=max(seconds, default=None),
    )


def coverage(records: Sequence[Record]) -> Rate | None:
    """How often the nominal 95 % interval holds the change that was injected."""
    hits = [
        record.verdict.low <= record.truth <= record.verdict.high
        for record in records
        if record.verdict.low is not None and record.verdict.high is not None
    ]
    return rate_of(sum(hits), len(hits)) if hits else None


def groups(case: Case, records: Sequence[Record]) -> dict[str, list[Record]]:
    """The rows of a case: what is judged, then each kind, then each layout if there are several.

    A crashed suite has no kind; it stands in the first row.
    """
    judged = "all" if not case.exempt else f"all but {', '.join(sorted(case.exempt))}"
    rows = {judged: [record for record in records if record.kind not in case.exempt]}
    for kind in sorted({record.kind for record in records if record.kind}):
        rows[kind] = [record for record in records if record.kind == kind]
    for variant in dict.fromkeys(case.variants) if len(case.variants) > 1 else ():
        found = [r for r in records if r.variant == variant and not r.is_crash]
        if found:
            rows[f"layout: {variant}"] = found
    return rows


def failures(requirement: Requirement, figures: Figures) -> list[str]:
    """Each limit that does not hold, with its figure; nothing measured fails nothing."""
    if figures.n == 0:
        return []
    regressed = figures.share("regressed")
    inconclusive = figures.share("inconclusive")
    covered, slowest = figures.covered, figures.max_seconds
    limit_s = requirement.seconds_max
    checks = (
        (figures.crashes > 0, f"{figures.crashes} crashed"),
        (regressed.value < requirement.regressed_min, f"{percent(regressed.value)} regressed"),
        (regressed.value > requirement.regressed_max, f"{percent(regressed.value)} regressed"),
        (
            inconclusive.value > requirement.inconclusive_max,
            f"{percent(inconclusive.value)} inconclusive",
        ),
        (
            requirement.coverage_min > 0
            and (covered is None or covered.value < requirement.coverage_min),
            f"{percent(covered.value) if covered else 'nothing'} covered",
        ),
        (
            limit_s is not None and slowest is not None and slowest > limit_s,
            f"up to {slowest:.1f} s" if slowest is not None else "",
        ),
    )
    return [text for is_broken, text in checks if is_broken]


def percent(share: float) -> str:
    return f"{round(100 * share, 2):g} %"
