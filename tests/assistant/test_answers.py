"""Answers are bounded and plain, and the referee says only what the verdict and the work allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.assistant.answers import (
    MOST_LETTERS,
    MOST_TERSE,
    bounded,
    render_evidence,
    render_referee,
    some_terse,
)
from pytest_rlperf.assistant.snippets import Work
from pytest_rlperf.assistant.tools import refusal
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.report.terse import render_terse
from tests.factories import a_test, examples, verdict
from tests.sample_runs import EVERYTHING, LARGER, SLOWER, many_tests

EQUAL = Work(True, "both return 3")
UNKNOWN = Work(None, "neither returns anything")


@examples
@given(st.lists(st.text(max_size=3000), min_size=1, max_size=30))
def test_an_answer_is_bounded_and_ends_with_the_command_that_repeats_it(lines: list[str]):
    answer = bounded([*lines, "repeat: pytest"])
    assert len(answer) <= MOST_LETTERS
    assert answer.endswith("repeat: pytest")
    assert "\x1b" not in answer


def test_of_a_terse_run_the_worst_lines_and_the_counts_are_kept():
    lines = render_terse(many_tests(2000), 1)
    shown = some_terse(lines)
    assert len(shown) == MOST_TERSE + 1
    assert shown[0] == lines[0]
    assert shown[-2:] == [f"… {len(lines) - MOST_TERSE} more lines", lines[-1]]
    assert some_terse(lines[:3]) == lines[:3]


@pytest.mark.parametrize("test", EVERYTHING.tests, ids=lambda test: test.nodeid)
def test_every_test_has_evidence_that_fits_into_an_answer(test):
    text = "\n".join(render_evidence(test))
    assert text.startswith(test.nodeid)
    assert len(text) < MOST_LETTERS


def test_evidence_has_each_metric_and_the_change_in_each_block():
    text = "\n".join(render_evidence(SLOWER))
    assert "time: REGRESSED: " in text
    assert "the change in each block: +3" in text
    assert "peak_rss: REGRESSED: 40 MiB → 52 MiB, +30.0 %" in "\n".join(render_evidence(LARGER))


@pytest.mark.parametrize(
    ("outcome", "work", "said"),
    [
        (Outcome.IMPROVED, EQUAL, "after is an improvement: it counts"),
        (Outcome.IMPROVED, UNKNOWN, "counts only once you have shown that it does the same work"),
        (Outcome.FASTER, EQUAL, "no improvement"),
        (Outcome.UNCHANGED, EQUAL, "no difference that counts"),
        (Outcome.SLOWER, EQUAL, "after is slower"),
        (Outcome.REGRESSED, EQUAL, "after is slower"),
        (Outcome.INCONCLUSIVE, EQUAL, "undecided"),
    ],
)
def test_only_improved_with_equal_work_counts(outcome: Outcome, work: Work, said: str):
    first, second = render_referee(
        a_test(verdict=verdict(outcome, change=(-0.2, -0.3, -0.1))), work
    )
    assert said in first
    assert first.endswith("(-20.0 % [-30.0, -10.0 %] of time)")
    assert ("it counts" in first) == (outcome is Outcome.IMPROVED and work is EQUAL)
    assert second.startswith("work: equal" if work is EQUAL else "work: NOT KNOWN")


def test_other_work_is_no_improvement_however_fast():
    first, _ = render_referee(None, Work(False, "before returns 1, after 2"))
    assert first == "NOT THE SAME WORK, so nothing was measured: before returns 1, after 2"


def test_without_a_comparison_there_is_no_verdict():
    new = a_test(verdict=verdict(Outcome.NO_BASELINE, "it fails on the base"))
    assert render_referee(new, EQUAL)[0] == "verdict: none, since nothing could be compared"


def test_a_refusal_is_found_wherever_it_stands_among_what_was_told():
    assert refusal(["rlperf: no such commit.", "slow +30 % abc"], "bisect") == "no such commit."
    assert refusal(["something broke"], "bisect") == "something broke"
    assert refusal([], "trend") == "rlperf trend said nothing"
