"""What to do about what a run found. Nothing where there is nothing to say."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_rlperf.measure.machine import STEAL_HURTS
from pytest_rlperf.model.plan import Mode
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.report.evidence import head_rate, is_cold, witnesses

FEW_PER_S = 100.0
MUCH_BYTES = 1000e6
NOISY_TIMES = 2
"""A run that could detect only this many times the threshold was too short for the test's noise."""
PREEMPTED_PER_S = 100.0
"""One slice of 2 ms in five. Only where the sides take turns: sides that run at once preempt each
other by design."""
NAMED = 3
"""More tests than these are counted."""


@dataclass(frozen=True, slots=True)
class Rule:
    applies: Callable[[TestResult], bool]
    finding: str
    remedy: str


def render_advice(run: RunResult) -> list[str]:
    """One line a finding, with the tests it was made on."""
    return list(_lines(run))


def _lines(run: RunResult) -> Iterator[str]:
    for rule in RULES:
        found = [test.nodeid for test in run.tests if rule.applies(test)]
        if found:
            yield f"{rule.finding} ({_named(found)}): {rule.remedy}"


def _named(nodeids: Sequence[str]) -> str:
    more = len(nodeids) - NAMED
    return ", ".join(nodeids[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _is_slow(test: TestResult) -> bool:
    rate = head_rate(test)
    return rate is not None and rate < FEW_PER_S


def _is_large(test: TestResult) -> bool:
    return bool(test.memory_bytes) and statistics.median(test.memory_bytes) > MUCH_BYTES


def _is_noisy(test: TestResult) -> bool:
    """A test that is decided needs no advice, however little an early look could have detected."""
    v = test.verdict
    if v.outcome is not Outcome.INCONCLUSIVE or v.detectable is None or v.threshold is None:
        return False
    return v.detectable > NOISY_TIMES * v.threshold


def _is_disturbed(test: TestResult) -> bool:
    seen = witnesses(test)
    turns = test.plan is not None and test.plan.mode is Mode.SLICED
    preempted = turns and seen.get("preempted_per_s", 0.0) > PREEMPTED_PER_S
    return preempted or seen.get("steal", 0.0) > STEAL_HURTS


RULES = (
    Rule(
        _is_slow,
        f"fewer than {FEW_PER_S:.0f} operations a second",
        "profile it, then batch, vectorise or compile what takes the time",
    ),
    Rule(
        _is_large,
        f"more than {MUCH_BYTES / 1e6:.0f} MB of memory",
        "store smaller types (a uint8 frame takes a quarter of a float32 one) or fewer entries",
    ),
    Rule(
        is_cold,
        "the first call takes far longer than later ones",
        "warm up before work that counts, compile ahead of time, and keep what was compiled",
    ),
    Rule(
        _is_noisy,
        f"undecided, and only changes above {NOISY_TIMES} times the threshold would have shown",
        "raise --rlperf-budget, give a call more work, or allow more by threshold=",
    ),
    Rule(
        _is_disturbed,
        "other work took the core away while this was measured",
        "`rlperf doctor` tells what on this machine can be mended",
    ),
)
