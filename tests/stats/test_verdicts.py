"""The words of a verdict."""

from typing import Any

import pytest

from pytest_rlperf.model.block import LEAST_BLOCKS
from pytest_rlperf.model.metric import Interval, Outcome, Severity, Verdict
from pytest_rlperf.stats.decide import Decision
from pytest_rlperf.stats.verdicts import Ended, severity, verdict_of


def said(decision: Decision | None, ended: Ended | None = None, **kinds: Any) -> Verdict:
    return verdict_of(decision, ended, 0.05, **{"failed": False, "skipped": False, **kinds})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (0.02, Severity.NOTICE),
        (0.10, Severity.NOTICE),
        (0.1001, Severity.MEDIUM),
        (0.20, Severity.MEDIUM),
        (0.2001, Severity.HIGH),
        (3.0, Severity.HIGH),
    ],
)
def test_severity_follows_the_point_estimate(change: float, expected: Severity):
    assert severity(change) is expected


def test_a_regression_carries_its_numbers_and_severity():
    interval = Interval(0.12, 0.11, 0.13)
    found = said(Decision(Outcome.REGRESSED, 16, interval, 0.06))
    assert found == Verdict(
        outcome=Outcome.REGRESSED,
        reason="slower than the allowed +5.0 %, beyond doubt",
        threshold=0.05,
        interval=interval,
        detectable=0.06,
        severity=Severity.MEDIUM,
        label=None,
    )


def test_what_is_shown_has_its_interval_and_no_judgement():
    interval = Interval(0.3, 0.2, 0.4)
    decision = Decision(Outcome.REGRESSED, 5, interval, 0.06)
    foreign = Ended(Outcome.INCOMPARABLE, "saved on another machine", shown=True)
    assert said(decision, foreign) == Verdict(
        Outcome.INCOMPARABLE, "saved on another machine", interval=interval
    )
    assert said(None, foreign).interval is None
    assert said(decision, Ended(Outcome.INCOMPARABLE, "other work")).interval is None


def test_a_baseline_that_is_known_badly_is_told_to_be_the_limit():
    decision = Decision(Outcome.INCONCLUSIVE, 8, Interval(0.136, 0.08, 0.19), 0.2, blur=0.025)
    reason = said(decision).reason
    assert reason.startswith("the baseline is known to ±5.0 % only")
    assert "save it again" in reason
    assert "--rlperf-budget" not in reason


@pytest.mark.parametrize(
    ("outcome", "interval", "reason"),
    [
        (Outcome.IMPROVED, Interval(-0.2, -0.21, -0.19), "faster by more than 5.0 %"),
        (Outcome.UNCHANGED, Interval(0.0, -0.01, 0.01), "within the allowed +5.0 %"),
        (
            Outcome.SLOWER,
            Interval(0.02, 0.01, 0.03),
            "slower, beyond doubt, and within the allowed +5.0 %",
        ),
        (Outcome.FASTER, Interval(-0.02, -0.03, -0.01), "faster, beyond doubt"),
        (
            Outcome.INCONCLUSIVE,
            Interval(0.05, 0.04, 0.06),
            "16 blocks could not tell it from the allowed +5.0 %: it lies too close; "
            "set another threshold for it, or look at the interval",
        ),
    ],
)
def test_every_other_outcome_has_its_sentence_and_no_severity(
    outcome: Outcome, interval: Interval, reason: str
):
    found = said(Decision(outcome, 16, interval, 0.08))
    assert (found.outcome, found.reason, found.severity) == (outcome, reason, None)


@pytest.mark.parametrize(
    ("interrupted", "advice"),
    [(False, "raise --rlperf-budget or select fewer tests"), (True, "run it again")],
)
@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        (
            Interval(0.05, 0.03, 0.07),
            "the interval still holds the allowed +5.0 %; this run could have detected +8.0 %",
        ),
        (
            Interval(0.5, 0.49, 0.51),
            "slower than the allowed +5.0 %, but too few blocks have confirmed it",
        ),
        (
            Interval(0.0, -0.01, 0.01),
            "the typical call is within the allowed +5.0 %, but the sums, which see rare slow "
            "ones, do not tell yet",
        ),
    ],
)
def test_a_test_that_ran_out_of_time_says_what_is_missing_and_what_to_do(
    interval: Interval, reason: str, interrupted: bool, advice: str
):
    decision = Decision(Outcome.INCONCLUSIVE, 4, interval, 0.08, out_of_time=True)
    found = said(decision, interrupted=interrupted)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.reason == f"{reason}; {advice}"


def test_a_large_regression_of_a_short_run_is_called_without_excuses():
    decision = Decision(Outcome.REGRESSED, 4, Interval(1.0, 0.9, 1.1), 0.3, out_of_time=True)
    found = said(decision, interrupted=True)
    assert found.reason == "slower than the allowed +5.0 %, beyond doubt"
    assert found.severity is Severity.HIGH


@pytest.mark.parametrize(
    ("sums", "labels", "label"),
    [
        (False, (), None),
        (True, (), "by sums"),
        (False, ("wall time, by alternation",), "wall time, by alternation"),
        (True, ("wall time", "another CPU"), "by sums, wall time, another CPU"),
    ],
)
def test_the_label_says_how_the_number_came_about(
    sums: bool, labels: tuple[str, ...], label: str | None
):
    decision = Decision(Outcome.UNCHANGED, 8, Interval(0.0, -0.01, 0.01), 0.06, by_sums=sums)
    assert said(decision, labels=labels).label == label


def test_a_judgement_on_the_sums_says_so():
    found = said(Decision(Outcome.REGRESSED, 16, Interval(0.3, 0.2, 0.4), 0.08, by_sums=True))
    assert found.label == "by sums"
    assert found.reason.endswith(", judged on the sums: only some of the calls changed")


OVER = pytest.mark.parametrize(
    ("interrupted", "over", "advice"),
    [
        (False, "the budget ran out", "raise --rlperf-budget or select fewer tests"),
        (True, "the run was interrupted", "run it again"),
    ],
)


@OVER
def test_too_few_blocks_for_an_interval_are_counted(interrupted: bool, over: str, advice: str):
    found = said(Decision(Outcome.INCONCLUSIVE, 2, out_of_time=True), interrupted=interrupted)
    assert found.reason == f"{over} after 2 of at least {LEAST_BLOCKS} blocks; {advice}"


@OVER
@pytest.mark.parametrize("decision", [None, Decision(None, 8)])
def test_a_test_that_was_never_judged_is_inconclusive(
    decision: Decision | None, interrupted: bool, over: str, advice: str
):
    found = said(decision, interrupted=interrupted)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.reason == f"{over} before it was measured; {advice}"


def test_a_failure_and_a_skip_are_not_judged_whatever_was_measured():
    decision = Decision(Outcome.REGRESSED, 16, Interval(0.3, 0.2, 0.4), 0.06)
    assert said(decision, Ended.alone(), failed=True).outcome is Outcome.FAILED
    assert said(decision, Ended.alone(), skipped=True).outcome is Outcome.SKIPPED


def test_what_ended_early_keeps_its_own_reason():
    found = said(None, Ended.alone())
    reason = "measured, with nothing to compare with"
    assert (found.outcome, found.reason) == (Outcome.NO_BASELINE, reason)


@pytest.mark.parametrize(
    ("needed_s", "cure"),
    [
        (410, "all tests need about 410 s here: --rlperf-budget=410"),
        (None, "raise --rlperf-budget or select fewer tests"),
    ],
)
def test_what_the_budget_did_not_reach_says_which_would(needed_s: float | None, cure: str):
    found = said(None, Ended.not_measured("it", 30.0, needed_s))
    assert found.outcome is Outcome.NOT_MEASURED
    assert found.reason == f"the budget of 30 s did not reach it; {cure}"


def test_different_work_names_each_differing_count_with_both_values():
    ended = Ended.different_work(
        {"episodes": 3, "updates": 101, "new": 1}, {"episodes": 3, "updates": 100, "old": 2.5}
    )
    assert ended.outcome is Outcome.INCOMPARABLE
    assert ended.reason == (
        "the sides did not do the same work: new is missing on the base and 1 on head; "
        "old is 2.5 on the base and missing on head; updates is 100 on the base and 101 on head"
    )


@pytest.mark.parametrize(
    ("state", "text", "reason"),
    [
        ("failed", "", "it fails on the base"),
        ("skipped", "Skipped: no GPU", "it is skipped on the base: Skipped: no GPU"),
        ("hung", "no answer\n  File x\n\n", "it hangs on the base: File x"),
        (
            "uncollected",
            "E   ImportError: q\n",
            "it cannot be collected on the base: ImportError: q",
        ),
        ("crashed", "signal SIGSEGV", "it crashes on the base: signal SIGSEGV"),
        ("unmeasured", "", "on the base it returns without calling rlperf"),
        (
            "abandoned",
            "",
            "the two sides did not meet in time; if its fixtures take long, make them once",
        ),
        (
            "uncollected",
            "E   ModuleNotFoundError: No module named 'pkg._fast'",
            "it cannot be collected on the base: ModuleNotFoundError: No module named 'pkg._fast'; "
            "if it is compiled or generated, set rlperf_build to the command for it",
        ),
        (
            "uncollected",
            "No module named 'q'; check rlperf_build",  # the hint is there already
            "it cannot be collected on the base: No module named 'q'; check rlperf_build",
        ),
        (
            "failed",
            "x = f()\nE   TypeError: f\n\na.py:3: TypeError",
            "it fails on the base: TypeError: f",
        ),
    ],
)
def test_trouble_on_the_base_is_no_baseline_and_names_the_cause(state: str, text: str, reason: str):
    assert Ended.base_did_not_run(state, text) == Ended(Outcome.NO_BASELINE, reason)
