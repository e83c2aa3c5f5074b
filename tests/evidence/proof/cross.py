"""Every save against every run on the same machine that came half an hour later or more, judged as
the gate does.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_rlperf.baselines.file import Stored
from pytest_rlperf.baselines.levels import CLOCK, Level, fit_weights, level_of
from pytest_rlperf.gate.partners import Kernels, gate_of
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.prove.rates import clopper_pearson
from pytest_rlperf.stats.decide import decide

from .projects import kind_of
from .sessions import APART_S, WORKS, Measured

THRESHOLD = 0.10


def pairs(sessions: Sequence[Measured]) -> Iterator[tuple[Measured, Measured]]:
    for saved in sessions:
        for later in sessions:
            apart_s = (later.created - saved.created).total_seconds()
            is_later = saved.save and not later.save and apart_s >= APART_S
            if is_later and saved.machine == later.machine:
                yield saved, later


def judge(saved: Stored, later: Stored) -> Outcome:
    """The verdict of a run with these blocks and no more."""
    now = later.latest
    assert now is not None
    level = level_of(saved, saved.source_hash, now.facts)
    assert isinstance(level, Level)
    partner = Kernels({saved.nodeid: level}, threshold=THRESHOLD)
    comparison = partner.comparison(saved.nodeid)
    assert comparison is not None
    ratios = comparison.ratios(now.blocks)
    gate = gate_of(partner, saved.nodeid, Spec(), len(WORKS), now.blocks)
    outcome = decide(ratios, gate, True).outcome
    assert outcome is not None
    return outcome


def render(sessions: Sequence[Measured]) -> str:
    chosen = list(pairs(sessions))
    loads = Counter((saved.load, later.load) for saved, later in chosen)
    lines = [
        "| work | saves x runs | unchanged code called slower | 95 % bounds | inconclusive | "
        "25 % slower caught | 95 % bounds | sd of the ratio | sd of the time |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(work, chosen, sessions) for work in WORKS),
        "",
        f"{len(sessions)} sessions; load then and now: "
        + ", ".join(f"{_yes(a)}/{_yes(b)} {n}" for (a, b), n in sorted(loads.items())),
    ]
    return "\n".join(lines) + "\n"


def _row(
    work: str, chosen: Sequence[tuple[Measured, Measured]], sessions: Sequence[Measured]
) -> str:
    name, slower = f"test_{work}", f"test_{work}_slower"
    same = Counter(judge(saved.tests[name], later.tests[name]) for saved, later in chosen)
    slow = Counter(judge(saved.tests[name], later.tests[slower]) for saved, later in chosen)
    ratio, time = spreads([session.tests[name] for session in sessions])
    cells = [
        kind_of(name),
        str(len(chosen)),
        *_share(same[Outcome.REGRESSED], len(chosen)),
        f"{same[Outcome.INCONCLUSIVE]}",
        *_share(slow[Outcome.REGRESSED], len(chosen)),
        f"{ratio:.1%}",
        f"{time:.1%}",
    ]
    return f"| {' | '.join(cells)} |"


def spreads(saved: Sequence[Stored]) -> tuple[float, float]:
    """Between sessions: of the time in the kernels that follow it best in all, and of the time."""
    facts = saved[0].newest.facts
    each = [[block for session in s.sessions for block in session.blocks] for s in saved]
    weights = fit_weights(*each, besides=frozenset({CLOCK}))
    levels = [
        level_of(Stored(s.nodeid, s.source_hash, weights, s.sessions), s.source_hash, facts)
        for s in saved
    ]
    ratios = [level.unit().at.typical for level in levels if isinstance(level, Level)]
    times = [math.log(s.sessions[-1].call_ns) for s in saved]
    return statistics.stdev(ratios), statistics.stdev(times)


def _share(hits: int, n: int) -> tuple[str, str]:
    if not n:
        return "–", "–"
    low, high = clopper_pearson(hits, n)
    return f"{hits} of {n}", f"{low:.1%} to {high:.1%}"


def _yes(load: bool) -> str:
    return "load" if load else "none"
