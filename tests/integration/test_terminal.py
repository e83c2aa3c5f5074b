"""What a person reads: the failing test, the table, the summary."""

import re

import pytest

from .projects import Ended


def test_a_regression_shows_all_its_evidence(outcomes: Ended):
    head, *rest = outcomes.section("test_slower").splitlines()
    assert re.fullmatch(
        r"REGRESSED \(medium\): time \+15\.0 % \[\+1[45]\.\d, \+15\.\d %\] "
        r"against base \([0-9a-f]{7}\), allowed \+5\.0 %",
        head,
    )
    shown = "\n".join(rest)
    blocks = outcomes.metric("test_slower")["blocks"]
    assert "why: slower than the allowed +5.0 %" in shown
    # Blocks are longer where the workers of the next one took long to come up.
    pairs = r"\d+( to \d+)? sliced pairs"
    assert re.search(rf"→ 1\.15 ms, {blocks} blocks of {pairs}, \d+ calls? a slice", shown)
    assert re.search(
        r"witnesses: CPU time \+15\.0 %, (the core to itself|other work took .* % of the core), "
        r"steal at most .* %, preempted \d+ times/s",
        shown,
    )
    assert f"repeat: {outcomes.test('test_slower')['repeat_command']}" in shown


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("REGRESSED", "test_twice"),
        ("improved", "test_faster"),
        ("unchanged", "test_same"),
        ("inconclusive", "test_unsteady"),
        ("incomparable", "test_learn"),
        ("no baseline", "test_new_on_head"),
        ("failed", "test_wrong_result"),
        ("skipped", "test_skipped"),
    ],
)
def test_the_table_has_a_line_a_test(outcomes: Ended, word: str, name: str):
    lines = outcomes.text.splitlines()
    assert any(re.fullmatch(rf"{word} .*tests/test_perf\.py::{name}", line) for line in lines)


def test_the_table_begins_with_the_worst(outcomes: Ended):
    lines = outcomes.text.splitlines()
    first = next(n for n, line in enumerate(lines) if "95 % interval" in line) + 1
    assert lines[first].startswith("REGRESSED         +100 %")


def test_the_summary_counts_the_outcomes(outcomes: Ended):
    assert (
        "rlperf: 4 regressed, 10 failed, 1 inconclusive, 1 incomparable, 3 no baseline, "
        "1 slower (allowed), 2 improved, 2 unchanged, 3 skipped in " in outcomes.text
    )


def test_what_is_no_pass_has_a_letter_of_its_own(outcomes: Ended):
    assert "tests/test_perf.py ..FFF.?F.≠.--F-FFsssFFFFFFF" in outcomes.text
    assert "1 inconclusive, 1 incomparable, 3 no baseline" in outcomes.text.splitlines()[-1]


def test_the_short_summary_quotes_the_assertion(outcomes: Ended):
    line = "FAILED tests/test_perf.py::test_wrong_result - AssertionError: learned too little"
    assert line in outcomes.text.splitlines()


def test_the_header_names_the_comparison(outcomes: Ended):
    header = next(line for line in outcomes.text.splitlines() if line.startswith("rlperf: against"))
    assert re.match(r"rlperf: against base \([0-9a-f]{7}\), allowed \+5\.0 %, budget 14 s", header)


def test_the_plugin_itself_never_fails(outcomes: Ended):
    assert "INTERNALERROR" not in outcomes.text
