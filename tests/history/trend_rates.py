"""How often trends are right, simulated: `python -m tests.history.trend_rates [HISTORIES]`.

Prints the share of histories in which something was called, where it is there and where it is not.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pytest_rlperf.history.records import PastTest, Trend
from pytest_rlperf.history.trend import trends
from pytest_rlperf.report.text import aligned
from tests.history.histories import SUITE, in_duets, in_reference_units, number_of

Simulated = Callable[[random.Random, Sequence[float], str], list[PastTest]]

SIGNALS: dict[str, Simulated] = {
    "reference units": in_reference_units,
    "duets with one commit": partial(in_duets, fixed=True),
    "duets with the commit before": in_duets,
}
ROGUES = "reference units, one run in thirty far off"
COMMITS = 20
ONE_EACH = tuple(0.01 * number for number in range(COMMITS + 1))
UNCHANGED = (0.0,) * (COMMITS + 1)
LONG = (0.0,) * 50
STEP_AT = COMMITS - 5
STEP = tuple(0.1 if number >= STEP_AT else 0.0 for number in range(COMMITS + 1))


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of history with a known truth, in a suite of so many tests."""

    signal: str
    truth: str
    simulated: Simulated
    levels: Sequence[float]
    suite: int = SUITE


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of the histories of a case."""

    changes: float
    creeps: float
    wrong_place: float  # a change was called whose commits do not enclose the true one

    @property
    def cells(self) -> list[str]:
        return [f"{100 * share:.2f} %" for share in (self.changes, self.creeps, self.wrong_place)]


def cases() -> Iterator[Case]:
    for signal, simulated in SIGNALS.items():
        yield Case(signal, "unchanged", simulated, UNCHANGED, suite=1)
        yield Case(signal, "unchanged", simulated, UNCHANGED)
        yield Case(signal, "+1 % a commit", simulated, ONE_EACH)
        yield Case(signal, "+10 % at once", simulated, STEP)
    rogues = partial(in_reference_units, rogue=1 / 30)
    for suite in (1, SUITE):
        yield Case(ROGUES, "unchanged", rogues, LONG, suite)


def rates(case: Case, histories: int, seed: int) -> Rates:
    rng = random.Random(seed)
    found = [_one(case, rng) for _ in range(histories)]
    return Rates(
        sum(bool(trend.changes) for trend in found) / histories,
        sum(trend.creep is not None for trend in found) / histories,
        sum(_is_misplaced(trend) for trend in found) / histories,
    )


def _one(case: Case, rng: random.Random) -> Trend:
    """The other tests of the suite have one point each: they only count."""
    past = case.simulated(rng, case.levels, "test_a.py::test_a")
    others = [replace(past[-1], nodeid=f"test_b.py::test_{n}") for n in range(1, case.suite)]
    return trends([*past, *others])[0]


def _is_misplaced(trend: Trend) -> bool:
    return any(
        not number_of(change.before) < STEP_AT <= number_of(change.after)
        for change in trend.changes or ()
    )


def main(histories: int) -> None:
    rows = [
        [
            "signal",
            "truth",
            "commits",
            "tests",
            "change called",
            "creep called",
            "at a wrong commit",
        ]
    ]
    for case in cases():
        about = [case.signal, case.truth, str(len(case.levels) - 1), str(case.suite)]
        rows.append([*about, *rates(case, histories, seed=7).cells])
    print(f"{histories} histories a row")
    print("\n".join(aligned(rows)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
