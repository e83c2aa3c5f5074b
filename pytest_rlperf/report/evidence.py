"""What the machine did while a test was measured."""

import statistics

from pytest_rlperf.model.block import Block, DeviceFacts
from pytest_rlperf.model.result import TestResult

COLD_NS = 1e8
COLD_RATIO = 5


def witnesses(test: TestResult) -> dict[str, float]:
    """What the machine did meanwhile, over all blocks of the test."""
    if not test.blocks:
        return {}
    found = {
        "steal": max(block.steal for block in test.blocks),
        "preempted_per_s": _preempted_per_s(test.blocks),
    }
    with_base = [block for block in test.blocks if block.base is not None]
    if with_base:
        head = sum(sum(b.head.cpu_ns) for b in with_base)
        base = sum(sum(b.base.cpu_ns) for b in with_base if b.base is not None)
        found["cpu_change"] = head / base - 1 if base else 0.0
    return found


def device_used(test: TestResult) -> DeviceFacts | None:
    """Head's, as busy as in the median block; None: the call itself computes."""
    found = [block.head.device for block in test.blocks if block.head.device is not None]
    if not found:
        return None
    told = [each.utilisation for each in found if each.utilisation is not None]
    return DeviceFacts(found[-1].name, statistics.median(told) if told else None)


def _preempted_per_s(blocks: tuple[Block, ...]) -> float:
    seconds = sum(sum(block.head.own_ns) for block in blocks) / 1e9
    return sum(block.head.preempted for block in blocks) / seconds


def is_cold(test: TestResult) -> bool:
    """The first call compiled or loaded something that matters."""
    if test.first_call_ns is None or not test.blocks:
        return False
    return test.first_call_ns > max(COLD_NS, COLD_RATIO * test.blocks[-1].head.call_ns)


def head_rate(test: TestResult) -> float | None:
    """Steps a second, or calls where the test declares no steps; None: not measured."""
    if not test.blocks:
        return None
    call_ns = statistics.median(block.head.call_ns for block in test.blocks)
    return (test.steps or 1) * 1e9 / call_ns
