"""How often trends are right and wrong, simulated: `python -m tests.judge.trend_rates [HISTORIES]`.

Prints, for suites of twenty tests, the share of histories in which something was called that is not
there, and the share in which it was called where it is.
"""

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pytest_rlperf.judge.trend import trends
from pytest_rlperf.model.history import PastTest
from pytest_rlperf.model.trend import Trend
from pytest_rlperf.report.columns import aligned
from tests.judge.histories import SUITE, in_duets, in_reference_units, number_of

Simulated = Callable[[random.Random, Sequence[float], str], list[PastTest]]

SIGNALS: dict[str, Simulated] = {
    "reference units": in_reference_units,
    "duets with one commit": partial(in_duets, fixed=True),
    "duets with the commit before": in_duets,
}
COMMITS = 20
ONE_EACH = [0.01 * number for number in range(COMMITS + 1)]
UNCHANGED = [0.0] * (COMMITS + 1)
STEP_AT = COMMITS - 5
STEP = [0.1 if number >= STEP_AT else 0.0 for number in range(COMMITS + 1)]


@dataclass(frozen=True, slots=True)
class Rates:
    """Of one kind of history, as shares of those that were looked at."""

    changes: float
    creeps: float
    wrong_place: float  # a change was called whose commits do not enclose the true one

    @property
    def row(self) -> list[str]:
        return [f"{100 * share:.1f} %" for share in (self.changes, self.creeps, self.wrong_place)]


def rates(simulated: Simulated, levels: Sequence[float], histories: int, seed: int) -> Rates:
    """Each history is that of one test in a suite, for all of which it is corrected."""
    rng = random.Random(seed)
    found = [_one(simulated, levels, rng) for _ in range(histories)]
    return Rates(
        sum(bool(trend.changes) for trend in found) / histories,
        sum(trend.creep is not None for trend in found) / histories,
        sum(_is_misplaced(trend) for trend in found) / histories,
    )


def _one(simulated: Simulated, levels: Sequence[float], rng: random.Random) -> Trend:
    past = simulated(rng, levels, "test_a.py::test_a")
    others = [replace(past[-1], nodeid=f"test_b.py::test_{number}") for number in range(1, SUITE)]
    return trends([*past, *others])[0]


def _is_misplaced(trend: Trend) -> bool:
    return any(
        not number_of(change.before) < STEP_AT <= number_of(change.after)
        for change in trend.changes or ()
    )


def main(histories: int) -> None:
    rows = [["signal", "truth", "a change called", "a creep called", "change at a wrong commit"]]
    truths = {"unchanged": UNCHANGED, "+1 % a commit": ONE_EACH, "+10 % at once": STEP}
    for signal, simulated in SIGNALS.items():
        for truth, levels in truths.items():
            rows.append([signal, truth, *rates(simulated, levels, histories, seed=7).row])
    print(f"{COMMITS} commits, {SUITE} tests, {histories} histories a row")
    print("\n".join(aligned(rows)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
