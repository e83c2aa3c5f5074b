"""Phases as text and data."""

from pytest_rlperf.model.phase import OUTSIDE, PhaseResult
from pytest_rlperf.model.verdict import Interval
from pytest_rlperf.report.phases import phases_as_dicts, render_moved, render_phase_table
from tests.factories import a_test, run_result

ACT = PhaseResult("act", 0.5, 6e6, 0.6, 6e6, Interval(0.001, -0.002, 0.004))
LEARN = PhaseResult("learn", 0.42, 5e6, 0.3, 3e6, Interval(0.2, 0.19, 0.21), moved=True)
REST = PhaseResult(OUTSIDE, 0.08, 1e6, 0.1, 1e6, Interval(0.0, -0.001, 0.001))
TEST = a_test(phases=(ACT, LEARN, REST))


def test_the_table_shows_the_shares_and_which_phase_moved():
    assert [" ".join(line.split()) for line in render_phase_table(run_result(TEST))] == [
        "phase share adds 95 % interval base → head test",
        "act 60 % → 50 % +0.10 % [-0.20, +0.40 %] 6 ms → 6 ms test_a.py::test_a",
        "moved learn 30 % → 42 % +20.0 % [+19.0, +21.0 %] 3 ms → 5 ms test_a.py::test_a",
        "outside of phases 10 % → 8 % +0.00 % [-0.10, +0.10 %] 1 ms → 1 ms test_a.py::test_a",
    ]


def test_without_a_base_there_are_shares_only():
    alone = a_test(phases=(PhaseResult("act", 0.5, 6e6),))
    table = render_phase_table(run_result(alone, against=None))
    assert table[1].split() == ["act", "50", "%", "6", "ms", "test_a.py::test_a"]


def test_a_failure_names_what_moved():
    assert list(render_moved(TEST)) == ["  phases: learn adds +20.0 % of the whole call"]
    assert list(render_moved(a_test())) == []


def test_a_run_without_phases_has_no_table():
    assert render_phase_table(run_result(a_test())) == []


def test_the_result_has_a_row_a_phase():
    assert phases_as_dicts(TEST)[1] == {
        "name": "learn",
        "share": 0.42,
        "ns": 5e6,
        "base_share": 0.3,
        "base_ns": 3e6,
        "moved": True,
        "change": 0.2,
        "low": 0.19,
        "high": 0.21,
    }
