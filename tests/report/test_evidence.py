"""Advice follows from a finding, and nothing is said where there is none."""

from dataclasses import replace
from typing import Any

import pytest

from pytest_rlperf.model.block import Block, DeviceFacts
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.evidence import device_used, render_advice
from pytest_rlperf.report.result_file import run_as_dict, run_from
from pytest_rlperf.report.terminal import render_witnesses
from tests.factories import a_test, block, run_result, side, verdict

MS = 10**6
NODE = "test_a.py::test_a"


def played(call_ms: int = 1, **fields: Any) -> tuple[Block, ...]:
    return (block([call_ms * MS] * 2, None, **fields),) * 3


def advice(*tests: TestResult) -> list[str]:
    return render_advice(run_result(*tests))


UNDECIDED = verdict(Outcome.INCONCLUSIVE, detectable=None)
PREEMPTED = (Block(side([10 * MS], preempted=2), None, core=0),)


@pytest.mark.parametrize(
    "test",
    [
        a_test(),
        a_test(blocks=played()),
        a_test(blocks=played(20), steps=10),
        a_test(blocks=played(), memory_bytes=(900e6,)),
        a_test(blocks=played(5), first_call_ns=90 * MS),
        a_test(blocks=played(2000)),
        a_test(blocks=played(steal=0.1)),
        a_test(blocks=PREEMPTED, steps=1000),
        a_test(blocks=played(steal=0.01), verdict=UNDECIDED),
        a_test(blocks=played(), verdict=verdict(detectable=0.2)),
        a_test(verdict=verdict(Outcome.INCONCLUSIVE, detectable=0.09)),
        a_test(verdict=verdict(Outcome.INCONCLUSIVE, detectable=None)),
    ],
)
def test_a_test_in_order_gets_no_advice(test: TestResult):
    assert advice(test) == []


@pytest.mark.parametrize(
    ("test", "finding", "remedy"),
    [
        (a_test(blocks=played(200), steps=10), "fewer than 100 steps a second", "batch"),
        (a_test(memory_bytes=(1.2e9,)), "more than 1000 MB of memory", "smaller types"),
        (
            a_test(blocks=played(5), first_call_ns=3000 * MS),
            "the first call takes far longer than later ones",
            "compile ahead of time",
        ),
        (
            a_test(verdict=verdict(Outcome.INCONCLUSIVE, detectable=0.11)),
            "undecided, and only changes above 2 times the threshold would have shown",
            "--rlperf-budget",
        ),
        (
            a_test(blocks=played(steal=0.1), verdict=UNDECIDED),
            "undecided, and other work took the core away while this was measured",
            "`rlperf doctor`",
        ),
        (
            a_test(blocks=PREEMPTED, steps=1000, verdict=UNDECIDED),
            "undecided, and other work took the core away while this was measured",
            "`rlperf doctor`",
        ),
    ],
)
def test_a_finding_is_named_with_its_test_and_a_remedy(test: TestResult, finding: str, remedy: str):
    (line,) = advice(test)
    assert line.startswith(f"{finding} ({NODE}): ")
    assert remedy in line


def test_sides_that_run_at_once_preempt_each_other_by_design():
    at_once = Plan(Mode.CONCURRENT, calls=1, pairs=2, warmup=1)
    blocks = (Block(side([10 * MS], preempted=20), None, core=0),)
    assert advice(a_test(blocks=blocks, plan=at_once, steps=1000, verdict=UNDECIDED)) == []


def test_many_tests_with_one_finding_get_one_line():
    (line,) = advice(*(a_test(f"t{n}", blocks=played(20), steps=1) for n in range(5)))
    assert "(t0, t1, t2 and 2 more)" in line


# Where the arrays of a test were computed, as data and as text.


def blocks(*busy: float | None) -> tuple[Block, ...]:
    return tuple(Block(side([10, 10], device=DeviceFacts("jax cpu:0", each))) for each in busy)


def test_it_is_as_busy_as_in_the_median_block():
    test = replace(a_test(), blocks=blocks(0.9, 0.1, 0.8))
    assert device_used(test) == DeviceFacts("jax cpu:0", 0.8)
    assert render_witnesses(test).endswith("computed by jax cpu:0 (80 % busy)")


def test_a_device_that_nobody_watches_has_a_name():
    test = replace(a_test(), blocks=blocks(None, None))
    assert device_used(test) == DeviceFacts("jax cpu:0", None)
    assert render_witnesses(test).endswith("computed by jax cpu:0")


def test_a_result_keeps_it():
    written = run_as_dict(run_result(replace(a_test(), blocks=blocks(0.5))), 0)
    (row,) = written["tests"]
    assert row["device"] == {"name": "jax cpu:0", "utilisation": 0.5}
    (read,) = run_from(written).tests
    assert device_used(read) == DeviceFacts("jax cpu:0", 0.5)


def test_most_tests_have_none():
    test = replace(a_test(), blocks=(Block(side([10, 10])),))
    assert device_used(test) is None
    assert "computed by" not in render_witnesses(test)
