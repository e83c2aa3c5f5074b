"""Where the arrays of a test were computed, as data and as text."""

from dataclasses import replace

from pytest_rlperf.model.block import Block, DeviceFacts
from pytest_rlperf.report.evidence import device_used
from pytest_rlperf.report.export import run_as_dict
from pytest_rlperf.report.terminal import render_witnesses
from pytest_rlperf.store.read_back.run import run_from
from tests.factories import a_test, run_result, side


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
