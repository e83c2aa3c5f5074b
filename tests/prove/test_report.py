"""The proof as a table, as sentences and as data."""

import json
from dataclasses import replace

import pytest

from pytest_rlperf.model.metric import Interval, Outcome
from pytest_rlperf.model.result import Failure, Goal, Proof, Trial
from pytest_rlperf.prove.rates import by_case, by_test, false_alarms, missed
from pytest_rlperf.prove.report import (
    NAMED,
    render_proof,
    render_proof_summary,
    render_proof_table,
)
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.result_file import run_as_dict
from tests.factories import a_test, a_trial, run_result, verdict

GOALS = (Goal(0.0, 3, 300), Goal(0.1, 2, 100), Goal(0.05, 1, 100))


def reading(injected: float, outcome: Outcome, *interval: float) -> Trial:
    return a_trial(injected=injected, outcome=outcome, interval=Interval(*interval))


UNCHANGED = reading(0.0, Outcome.UNCHANGED, 0.001, -0.01, 0.012)
CALLED = reading(0.1, Outcome.REGRESSED, 0.102, 0.09, 0.114)
SILENT = reading(0.1, Outcome.INCONCLUSIVE, 0.08, 0.04, 0.12)
AT_LIMIT = reading(0.05, Outcome.INCONCLUSIVE, 0.051, 0.04, 0.062)
ALARM = reading(0.0, Outcome.REGRESSED, 0.071, 0.059, 0.086)


def a_proof(*trials: Trial, **fields: object) -> Proof:
    plain = Proof(
        cases=by_case(trials),
        tests=by_test(trials),
        goals=GOALS,
        false_alarms=false_alarms(trials),
        missed=missed(trials),
        added=2,
        left_out=0,
        file="/cache/proofs/abc.jsonl",
    )
    return replace(plain, **fields)  # type: ignore[arg-type]


TABLE = """\
change     allowed  n  called slower            inconclusive  interval holds it       \
read as, mean ± sd  s a verdict  should be called slower
unchanged  +5.0 %   2  0 of 2 (0 to 84.2 %)     0             2 of 2 (15.8 to 100 %)  \
+0.10 ± 0.00 %      4.0          none
+5.0 %     +5.0 %   1  0 of 1 (0 to 97.5 %)     1             1 of 1 (2.5 to 100 %)   \
+5.10 %             4.0          hardly any: just what is allowed
+10.0 %    +5.0 %   2  1 of 2 (1.26 to 98.7 %)  1             2 of 2 (15.8 to 100 %)  \
+9.10 ± 1.56 %      4.0          all: at least twice what is allowed
"""


def test_the_table_has_a_line_for_each_change():
    proof = a_proof(UNCHANGED, CALLED, SILENT, AT_LIMIT, UNCHANGED)
    assert render_proof_table(proof) == TABLE.splitlines()


def test_unchanged_code_called_faster_is_shown_where_it_happens():
    faster = reading(0.0, Outcome.IMPROVED, -0.08, -0.1, -0.06)
    title, row = render_proof_table(a_proof(faster))
    assert "called faster" in title
    assert "called faster" not in TABLE
    assert row.split()[:9] == ["unchanged", "+5.0", "%", "1", "0", "of", "1", "(0", "to"]


def test_a_false_alarm_is_told_with_what_was_read():
    assert (
        "FALSE ALARM: test_a.py::test_a: unchanged code read as +7.1 % [+5.9, +8.6 %] on "
        "2030-01-02T03:04:05+00:00" in render_proof(a_proof(UNCHANGED, ALARM))
    )


def test_a_change_that_was_missed_is_told_with_what_was_said_of_it():
    assert (
        "missed: test_a.py::test_a: +10.0 % read as +8.0 % [+4.0, +12.0 %] on "
        "2030-01-02T03:04:05+00:00, inconclusive" in render_proof(a_proof(SILENT))
    )


def test_many_of_a_kind_are_counted():
    lines = render_proof(a_proof(*[ALARM] * (NAMED + 3)))
    assert sum(line.startswith("FALSE ALARM: test_a.py") for line in lines) == NAMED
    assert "FALSE ALARM: 3 more" in lines


def test_a_change_at_the_threshold_is_no_miss_and_it_says_why():
    lines = render_proof(a_proof(AT_LIMIT))
    assert not any(line.startswith("missed") for line in lines)
    assert any(line.startswith("A change of just what is allowed is no reg") for line in lines)
    assert not any(line.startswith("A change of just") for line in render_proof(a_proof(CALLED)))


def test_it_says_how_far_it_has_come_and_how_to_go_on():
    said = "verdicts: 3 of 300 unchanged, 2 of 100 at +10.0 %, 1 of 100 at +5.0 %; run it again"
    assert f"{said} to go on." in render_proof(a_proof(UNCHANGED))
    full = a_proof(UNCHANGED, goals=(Goal(0.0, 302, 300),))
    assert "verdicts: 302 of 300 unchanged; that is all that was wanted." in render_proof(full)


def test_it_says_what_was_counted_and_where_it_is_kept():
    *_, counted, kept = render_proof(a_proof(UNCHANGED, left_out=7))
    assert counted.endswith("by this version of the plugin on this machine; 7 others are left out.")
    assert kept == "kept in /cache/proofs/abc.jsonl"


def test_a_test_without_a_verdict_says_why():
    proof = a_proof(uncounted={"test_b.py::test_b": "the sides did not do the same work"})
    assert render_proof(proof)[0] == (
        "test_b.py::test_b: no verdict: the sides did not do the same work"
    )


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ((UNCHANGED,), "proof of the gate, 1 verdict, 2 of them new"),
        ((UNCHANGED, CALLED), "proof of the gate, 2 verdicts, 2 of them new"),
    ],
)
def test_the_summary_counts_verdicts(trials: tuple[Trial, ...], said: str):
    assert render_proof_summary(a_proof(*trials)) == said


def test_as_data_it_has_the_numbers_of_the_table():
    data = run_as_dict(run_result(proof=a_proof(UNCHANGED, SILENT, ALARM)), 0)["proof"]
    unchanged, slower = data["cases"]
    assert (unchanged["injected"], unchanged["n"], unchanged["slower"]) == (0.0, 2, 1)
    assert unchanged["slower_low"] == pytest.approx(0.0126, abs=1e-4)
    assert (slower["expected"], slower["inconclusive"], slower["covered"]) == ("always", 1, 1)
    assert [found["injected"] for found in data["tests"]["test_a.py::test_a"]] == [0.0, 0.1]
    assert [alarm["change"] for alarm in data["false_alarms"]] == [0.071]
    assert data["goals"][0] == {"injected": 0.0, "done": 3, "wanted": 300}


def test_the_result_has_a_section_for_it_only_where_there_is_one():
    run = run_result(a_test())
    assert "proof" not in run_as_dict(run, 0)
    proved = run_as_dict(replace(run, mode="prove", proof=a_proof(UNCHANGED)), 0)
    assert json.loads(json.dumps(proved))["proof"]["cases"][0]["n"] == 1


def test_a_report_shows_the_proof_and_tests_that_failed():
    broken = a_test(
        "test_b.py::test_b", verdict=verdict(Outcome.FAILED), failure=Failure("E  no such action")
    )
    proof = a_proof(UNCHANGED)
    run = run_result(a_test(), broken, mode="prove", against=None, proof=proof)
    text = render_markdown(run, ["something to know"])
    assert text.startswith("## Performance: proof of the gate, 1 verdict, 2 of them new\n")
    assert "\n".join(render_proof(proof)) in text
    assert "no such action" in text
    assert "- something to know" in text
    assert "nothing was compared" not in text
