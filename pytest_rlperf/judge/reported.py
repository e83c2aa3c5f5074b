"""An estimate on the log scale as the interval that people are shown."""

import math

from pytest_rlperf.judge.decide import REPORTED_TAIL
from pytest_rlperf.judge.estimate import Estimate
from pytest_rlperf.model.verdict import Interval


def reported(found: Estimate) -> Interval:
    bounds = (found.mean, found.bound(REPORTED_TAIL), found.bound(1 - REPORTED_TAIL))
    return Interval(*map(math.expm1, bounds))
