"""A history of the tests of `tests.sample_runs`, with every kind of finding."""

import random

from pytest_rlperf.history.records import Flaky, History, PastTest
from pytest_rlperf.history.trend import STOLEN, trends
from tests.history.histories import in_duets, in_reference_units
from tests.sample_runs import ACCEPTED, FASTER, SAME, SLOWER, UNSURE

STEP = [0.0] * 20 + [0.15] * 6
PAST: tuple[PastTest, ...] = (
    *in_duets(random.Random(1), [0.01 * number for number in range(21)], SLOWER.nodeid),
    *in_reference_units(random.Random(2), STEP, SAME.nodeid),
    *in_reference_units(random.Random(3), [0.0] * 120, FASTER.nodeid),
    *in_duets(random.Random(4), [0.0] * 6 + [0.12] * 4, UNSURE.nodeid),
    *in_reference_units(random.Random(5), [0.0] * 2, ACCEPTED.nodeid),
)
HISTORY = History(
    trends(PAST),
    flaky=(Flaky(UNSURE.nodeid, "time", 20, 0.04, 0.05, 0.25, 0.03, None, (STOLEN,)),),
    troubles=("rlperf-data:history/2030-01.jsonl line 7 is no JSON; mend it or take it out.",),
)
