"""Evidence beside the verdicts: what the machine did meanwhile, and what to do about it."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from pytest_rlperf.machine.host import STEAL_HURTS
from pytest_rlperf.model.block import Block, DeviceFacts
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.plan import Mode
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.text import name_some

COLD_NS = 1e8
COLD_RATIO = 5


def witnesses(test: TestResult) -> dict[str, float]:
    """Return what the machine did meanwhile, over all blocks of the test."""
    if not test.blocks:
        return {}
    numbers = {
        "steal": max(block.steal for block in test.blocks),
        "preempted_per_s": _preempted_per_s(test.blocks),
    }
    if test.plan is not None and test.plan.mode is Mode.SLICED:  # else both sides want the core
        numbers["others"] = _taken_by_others(test.blocks)
    with_base = [block for block in test.blocks if block.base is not None]
    if with_base:
        head = sum(sum(b.head.cpu_ns) for b in with_base)
        base = sum(sum(b.base.cpu_ns) for b in with_base if b.base is not None)
        numbers["cpu_change"] = head / base - 1 if base else 0.0
    return numbers


def device_used(test: TestResult) -> DeviceFacts | None:
    """Return head's device, as busy as in the median block; None: the call itself computes."""
    devices = [block.head.device for block in test.blocks if block.head.device is not None]
    if not devices:
        return None
    busy = [device.utilisation for device in devices if device.utilisation is not None]
    return DeviceFacts(devices[-1].name, statistics.median(busy) if busy else None)


def _preempted_per_s(blocks: tuple[Block, ...]) -> float:
    seconds = sum(sum(block.head.own_ns) for block in blocks) / 1e9
    return sum(block.head.preempted for block in blocks) / seconds


def _taken_by_others(blocks: tuple[Block, ...]) -> float:
    """Return the share of the slices in which something else had the core."""
    sides = [side for block in blocks for side in (block.head, block.base) if side is not None]
    wall = sum(sum(side.wall_ns) for side in sides)
    return max(0.0, 1 - sum(sum(side.own_ns) for side in sides) / wall) if wall else 0.0


def is_cold(test: TestResult) -> bool:
    """Return whether the first call compiled or loaded something that matters."""
    if test.first_call_ns is None or not test.blocks:
        return False
    return test.first_call_ns > max(COLD_NS, COLD_RATIO * test.blocks[-1].head.call_ns)


def head_rate(test: TestResult) -> float | None:
    """Return steps a second, or calls where the test declares no steps; None: not measured."""
    if test.time is None or test.time.value is None:
        return None
    return (test.steps or 1) * 1e9 / test.time.value


# -- advice -------------------------------------------------------------------------------------

FEW_PER_S = 100.0
MUCH_BYTES = 1000e6
NOISY_TIMES = 2
"""A run that could detect only this many times the threshold was too short for the test's noise."""
PREEMPTED_PER_S = 100.0
"""One slice of 2 ms in five. Only where the sides take turns: sides that run at once preempt each
other by design."""


@dataclass(frozen=True, slots=True)
class AdviceRule:
    """A finding about some tests, and what to do about it."""

    applies: Callable[[TestResult], bool]
    finding: str
    remedy: str


def render_advice(run: RunResult) -> list[str]:
    """Return one line a finding, with the tests it was made on."""
    lines = []
    for rule in RULES:
        nodeids = [test.nodeid for test in run.tests if rule.applies(test)]
        if nodeids:
            lines.append(f"{rule.finding} ({name_some(nodeids)}): {rule.remedy}")
    return lines


def _is_slow(test: TestResult) -> bool:
    """Return whether its steps are few a second; a call may be a whole training, or a sleep."""
    rate = head_rate(test)
    return test.steps is not None and rate is not None and rate < FEW_PER_S


def _is_large(test: TestResult) -> bool:
    return bool(test.memory_bytes) and statistics.median(test.memory_bytes) > MUCH_BYTES


def _is_noisy(test: TestResult) -> bool:
    """Return whether a test was too noisy to be decided; a decided one needs no advice, however
    little an early look could have detected.
    """
    v = test.headline
    if v.outcome is not Outcome.INCONCLUSIVE or v.detectable is None or v.threshold is None:
        return False
    if test.learning is not None:  # its reason says what it lacks: seeds
        return False
    return v.detectable > NOISY_TIMES * v.threshold


def _is_disturbed(test: TestResult) -> bool:
    """Return whether other work kept a test from being decided: on a shared machine there is always
    some, and who has a verdict needs no advice.
    """
    if test.headline.outcome is not Outcome.INCONCLUSIVE:
        return False
    seen = witnesses(test)
    turns = test.plan is not None and test.plan.mode is Mode.SLICED
    preempted = turns and seen.get("preempted_per_s", 0.0) > PREEMPTED_PER_S
    return preempted or seen.get("steal", 0.0) > STEAL_HURTS


RULES = (
    AdviceRule(
        _is_slow,
        f"fewer than {FEW_PER_S:.0f} steps a second",
        "profile it, then batch, vectorise or compile what takes the time",
    ),
    AdviceRule(
        _is_large,
        f"more than {MUCH_BYTES / 1e6:.0f} MB of memory",
        "store smaller types (a uint8 frame takes a quarter of a float32 one) or fewer entries",
    ),
    AdviceRule(
        is_cold,
        "the first call takes far longer than later ones",
        "warm up before work that counts, compile ahead of time, and keep what was compiled",
    ),
    AdviceRule(
        _is_noisy,
        f"undecided, and only changes above {NOISY_TIMES} times the threshold would have shown",
        "raise --rlperf-budget, give a call more work, or allow more by threshold=",
    ),
    AdviceRule(
        _is_disturbed,
        "undecided, and other work took the core away while this was measured",
        "`rlperf doctor` tells what on this machine can be mended",
    ),
)
