"""A test's time in the reference kernels, as data."""

from typing import Any

from pytest_rlperf.judge.estimate import estimate
from pytest_rlperf.judge.reference import kernel_ratios
from pytest_rlperf.measure.kernels import EDITION
from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.result import TestResult


def reference_as_dict(test: TestResult) -> dict[str, Any] | None:
    """Over every kernel that played, not its own unit alone: that may be chosen anew one day. None:
    no kernel played, or in too few blocks.
    """
    played = [kernel_ratios(block) for block in test.blocks if block.reference is not None]
    if len(played) < LEAST_BLOCKS:
        return None
    ratios = {
        name: round(estimate([block[name].typical for block in played]).mean, 6)
        for name in played[0]
    }
    return {"edition": EDITION, "log_ratios": ratios, "weights": dict(test.unit)}
