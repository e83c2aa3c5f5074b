"""Rates from verdicts on changes that are known."""

import json
from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import append_lines, read_lines
from pytest_rlperf.model.metric import Interval, Outcome
from pytest_rlperf.prove.rates import (
    Expectation,
    append,
    by_case,
    by_test,
    expectation,
    false_alarms,
    missed,
    proof_file,
    rate_of,
    read,
)
from tests.factories import a_trial


@pytest.mark.parametrize(
    ("injected", "threshold", "expected"),
    [
        (0.0, 0.05, Expectation.NEVER),
        (0.05, 0.10, Expectation.HARDLY),
        (0.05, 0.05, Expectation.AT_LIMIT),
        (0.1, 0.07, Expectation.OFTEN),
        (0.1, 0.05, Expectation.ALWAYS),
        (0.1, 0.02, Expectation.ALWAYS),
        (0.3, 0.1 + 0.05, Expectation.ALWAYS),  # twice, but for rounding
    ],
)
def test_what_is_expected_depends_on_how_a_change_stands_to_the_threshold(
    injected: float, threshold: float, expected: Expectation
):
    assert expectation(injected, threshold) is expected


def test_figures_are_those_of_the_verdicts():
    trials = [
        a_trial(outcome=Outcome.UNCHANGED, interval=Interval(0.01, -0.01, 0.03), seconds=2.0),
        a_trial(outcome=Outcome.REGRESSED, interval=Interval(0.07, 0.06, 0.08), seconds=4.0),
        a_trial(outcome=Outcome.INCONCLUSIVE, interval=Interval(0.04, -0.02, 0.1), seconds=6.0),
        a_trial(outcome=Outcome.IMPROVED, interval=Interval(-0.08, -0.1, -0.06), seconds=8.0),
    ]
    (found,) = by_case(trials)
    assert found.slower == rate_of(1, 4)
    assert (found.n, found.faster, found.inconclusive) == (4, 1, 1)
    assert found.covered == rate_of(2, 4)
    assert found.mean_change == pytest.approx(0.01)
    assert found.sd_change == pytest.approx(0.0648, abs=1e-4)
    assert found.mean_seconds == 5.0


def test_an_interval_must_hold_what_was_injected_and_not_zero():
    (found,) = by_case([a_trial(injected=0.1, interval=Interval(0.1, 0.09, 0.11))])
    assert found.covered == rate_of(1, 1)
    assert found.sd_change is None


def test_changes_and_thresholds_are_told_apart():
    trials = [a_trial(injected=0.1), a_trial(), a_trial(threshold=0.02), a_trial()]
    cases = [(found.injected, found.threshold, found.n) for found in by_case(trials)]
    assert cases == [(0.0, 0.02, 1), (0.0, 0.05, 2), (0.1, 0.05, 1)]


def test_every_test_has_figures_of_its_own():
    found = by_test([a_trial("b"), a_trial("a"), a_trial("b", injected=0.1), a_trial("b")])
    assert {nodeid: [f.n for f in figures] for nodeid, figures in found.items()} == {
        "a": [1],
        "b": [2, 1],
    }


def test_a_false_alarm_is_unchanged_code_called_slower():
    alarm = a_trial(outcome=Outcome.REGRESSED)
    trials = [a_trial(), alarm, a_trial(injected=0.05, outcome=Outcome.REGRESSED)]
    assert false_alarms(trials) == (alarm,)


def test_only_what_lies_far_above_the_threshold_can_be_missed():
    silent = a_trial(injected=0.1, outcome=Outcome.INCONCLUSIVE)
    trials = [
        a_trial(injected=0.1, outcome=Outcome.REGRESSED),
        silent,
        a_trial(injected=0.1, threshold=0.07),
        a_trial(injected=0.05),
        a_trial(),
    ]
    assert missed(trials) == (silent,)


def test_no_verdicts_have_no_figures():
    assert by_case([]) == ()
    assert by_test([]) == {}


# Verdicts of a proof on disk.


TRIALS = [a_trial(), a_trial("test_b.py::test_b", injected=0.1, outcome=Outcome.REGRESSED)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return proof_file(tmp_path / "cache", tmp_path / "project")


def test_verdicts_survive_the_file(path: Path):
    append(path, TRIALS[:1])
    append(path, TRIALS[1:])
    assert read(path) == TRIALS


def test_every_project_has_its_own_file(tmp_path: Path):
    files = {proof_file(tmp_path, tmp_path / name) for name in ("a", "b")}
    assert len(files) == 2


def test_a_torn_last_line_is_none(path: Path):
    append(path, TRIALS)
    path.write_bytes(path.read_bytes()[:-30])
    assert read(path) == TRIALS[:1]


def line_with(path: Path, **fields: object) -> str:
    append(path, TRIALS[:1])
    (line,) = read_lines(path)
    path.unlink()
    return json.dumps({**json.loads(line), **fields})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"schema": 99}, "has schema 99, and this version reads up to 1; update pytest-rlperf."),
        ({"outcome": "odd"}, "is damaged at line 1.outcome; delete it to begin anew."),
        ({"interval": {"low": 1}}, "is damaged at line 1.interval.change; delete it to begin"),
        ({"seconds": "long"}, "is damaged at line 1.seconds; delete it to begin anew."),
    ],
)
def test_what_is_no_verdict_is_refused_with_its_place(
    path: Path, fields: dict[str, object], said: str
):
    line = line_with(path, **fields)
    append_lines(path, [line])
    with pytest.raises(UsageError) as caught:
        read(path)
    assert said in str(caught.value)


@pytest.mark.parametrize("line", ["nonsense", "[]", "1"])
def test_a_line_that_is_none_of_ours_is_named(path: Path, line: str):
    append(path, TRIALS)
    append_lines(path, [line])
    with pytest.raises(UsageError, match="line 3"):
        read(path)


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "cache").write_text("a file")
    path = proof_file(tmp_path / "cache", tmp_path)
    with pytest.raises(UsageError, match=r"cannot be written to .*; set RLPERF_CACHE to a folder"):
        append(path, TRIALS)
