"""Every outcome, from real workers on two revisions under a clock that obeys the library."""

import pytest

from pytest_rlperf.model.block import LEAST_BLOCKS

from .projects import Ended

EXPECTED = {
    "test_same": "unchanged",
    "test_within": "slower",
    "test_slower": "regressed",
    "test_a_bit_slower": "regressed",
    "test_twice": "regressed",
    "test_faster": "improved",
    "test_unsteady": "inconclusive",
    "test_every_eighth": "regressed",
    "test_rollout": "improved",
    "test_learn": "incomparable",
    "test_count_up": "unchanged",
    "test_broken_on_base": "no_baseline",
    "test_new_on_head": "no_baseline",
    "test_third_call_on_head": "failed",
    "test_third_call_on_base": "no_baseline",
    "test_third_call_on_both": "failed",
    "test_wrong_result": "failed",
    "test_skipped": "skipped",
    "test_marked_skip": "skipped",
    "test_expected_to_fail": "skipped",
    "test_setup_error": "failed",
    "test_teardown_error": "failed",
    "test_forgot_the_fixture": "failed",
    "test_marked_without_fixture": "failed",
    "test_called_twice": "failed",
    "test_not_a_function": "failed",
    "test_caught": "failed",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_test_ends_as_its_library_says(outcomes: Ended, name: str):
    assert outcomes.outcomes[name] == EXPECTED[name]


def test_only_performance_tests_run(outcomes: Ended):
    assert list(outcomes.outcomes) == list(EXPECTED)
    assert "1 deselected" in outcomes.text


def test_a_regression_fails_the_run(outcomes: Ended):
    assert outcomes.code == 1
    assert outcomes.result["exit_code"] == 1


@pytest.mark.parametrize(
    ("name", "change", "severity"),
    [
        ("test_a_bit_slower", 0.08, "notice"),
        ("test_slower", 0.15, "medium"),
        ("test_twice", 1.0, "high"),
    ],
)
def test_a_regression_has_its_size_and_severity(
    outcomes: Ended, name: str, change: float, severity: str
):
    metric = outcomes.metric(name)
    assert metric["change"] == pytest.approx(change, abs=0.002)
    assert metric["low"] <= metric["change"] <= metric["high"]
    assert metric["severity"] == severity


def test_slower_within_the_threshold_is_said(outcomes: Ended):
    reason = "slower, beyond doubt, and within the allowed +5.0 %"
    assert outcomes.metric("test_within")["reason"] == reason
    (line,) = [row for row in outcomes.text.splitlines() if row.endswith("::test_within")]
    assert line.startswith("slower (allowed)")


def test_an_improvement_is_a_negative_change(outcomes: Ended):
    assert outcomes.metric("test_faster")["change"] == pytest.approx(-1 / 3, abs=0.002)
    assert outcomes.metric("test_faster")["severity"] is None


def test_a_slowdown_of_every_eighth_call_is_caught_by_the_sums(outcomes: Ended):
    metric = outcomes.metric("test_every_eighth")
    assert metric["label"] == "by sums"
    assert metric["change"] == pytest.approx(0.15, abs=0.01)
    assert "only some of the calls changed" in metric["reason"]


def test_steps_turn_time_into_throughput(outcomes: Ended):
    rate = outcomes.metric("test_rollout", "throughput")
    assert rate["unit"] == "steps/s"
    assert rate["direction"] == "higher"
    assert rate["base_value"] == pytest.approx(100 / 1e-3, rel=0.002)
    assert rate["value"] == pytest.approx(100 / 0.8e-3, rel=0.002)
    assert rate["outcome"] == "improved"
    assert rate["change"] == outcomes.metric("test_rollout")["change"]


def test_only_a_test_with_steps_has_a_throughput(outcomes: Ended):
    assert [m["name"] for m in outcomes.test("test_same")["metrics"]] == ["time"]


def test_different_work_is_incomparable_and_names_the_count(outcomes: Ended):
    reason = outcomes.metric("test_learn")["reason"]
    assert "updates is 10 on the base and 12 on head" in reason


def test_counts_that_grow_with_every_call_are_compared_after_equally_many(outcomes: Ended):
    metric = outcomes.metric("test_count_up")
    assert metric["change"] == pytest.approx(0, abs=0.002)
    assert metric["blocks"] >= LEAST_BLOCKS


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("test_broken_on_base", "LookupError: no such game"),
        ("test_new_on_head", "module 'lib' has no attribute 'new_on_head'"),
        ("test_third_call_on_base", "OverflowError: the buffer is full"),
    ],
)
def test_a_test_that_fails_on_the_base_has_no_baseline(outcomes: Ended, name: str, cause: str):
    reason = outcomes.metric(name)["reason"]
    assert reason.startswith("it fails on the base: ")
    assert cause in reason


def test_an_inconclusive_test_says_what_it_could_have_detected(outcomes: Ended):
    metric = outcomes.metric("test_unsteady")
    assert metric["low"] < metric["threshold"] < metric["high"]
    assert metric["detectable"] > metric["threshold"]
    # Which comes first, the end of the budget or that of all hope, is the machine's affair.
    cures = ("raise --rlperf-budget", "set another threshold for it")
    assert any(cure in metric["reason"] for cure in cures)


def test_an_assertion_that_fails_in_a_worker_fails_the_test_with_its_traceback(outcomes: Ended):
    shown = outcomes.section("test_wrong_result")
    assert '>       assert updates == 11, "learned too little"' in shown
    assert "E       assert 12 == 11" in shown
    assert "printed by the test" in shown


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("test_setup_error", "OSError: no display"),
        ("test_teardown_error", "OSError: the socket is still open"),
    ],
)
def test_an_error_in_a_fixture_fails_the_test(outcomes: Ended, name: str, cause: str):
    assert f"E       {cause}" in outcomes.section(name)


@pytest.mark.parametrize(
    "reason", ["needs a GPU", "slow on Fridays", "expected to fail: known to be wrong"]
)
def test_a_skip_keeps_its_reason(outcomes: Ended, reason: str):
    skips = [line for line in outcomes.text.splitlines() if line.startswith("SKIPPED")]
    assert any(line.endswith(f": {reason}") for line in skips)
