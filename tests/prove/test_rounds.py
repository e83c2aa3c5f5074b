"""Rounds on made-up blocks, in which time passes only there."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.partners import BaseRevision
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Fingerprint, Goal, Progress, Trial
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.prove import rounds
from pytest_rlperf.prove.rates import read
from pytest_rlperf.prove.rounds import (
    CASES,
    Case,
    ProofRounds,
    Subject,
    VerdictKind,
    against_itself,
    counting,
    expected_s,
    goals,
    is_verdict,
    kinds_of,
    next_goal,
)
from pytest_rlperf.trees.git import WorkingState
from pytest_rlperf.wire import BASE, HEAD
from pytest_rlperf.workers.blocks import Blocks
from pytest_rlperf.workers.pair import Side, Stage
from pytest_rlperf.workers.side import State
from tests.factories import FACTS, a_test, a_trial, examples, verdict
from tests.gate.campaigns import Fake, FakeBlocks, unsure

HERE = Path("project")
STAGE = Stage(
    sides=(Side(HEAD, HERE, HERE, HERE),),
    home=HERE,
    import_roots=(),
    sys_path=(),
    pytest_args=(),
    inipath=None,
    options={},
    caches=HERE,
    folder=HERE,
    cores=(0, 1),
    seed=1,
    token="t",
)
TWO = {"a": Fake(), "b": Fake()}


class Place:
    """Makes the blocks of each round, whose head is as slow as the stage says."""

    def __init__(self, tests: Mapping[str, Fake], stop_in_round: int | None) -> None:
        self.rounds: list[tuple[float, FakeBlocks]] = []
        self._tests = tests
        self._stop_in_round = stop_in_round

    @property
    def now(self) -> float:
        return self.rounds[-1][1].now if self.rounds else 100.0

    def __call__(self, stage: Stage) -> Blocks:
        slowdown = stage.sides[HEAD].slowdown
        tests = {name: _slowed(test, slowdown) for name, test in self._tests.items()}
        last = len(self.rounds) + 1 == self._stop_in_round
        blocks = FakeBlocks(tests, 0.0, stop_at=7 if last else None, kernels=False)
        blocks.now = self.now
        self.rounds.append((slowdown, blocks))
        return cast(Blocks, blocks)

    @property
    def injected(self) -> list[float]:
        return [slowdown for slowdown, _ in self.rounds]


def _slowed(test: Fake, slowdown: float) -> Fake:
    def ratio(rng: random.Random) -> float:
        return (1 + slowdown) * test.ratio(rng)

    return replace(test, ratio=ratio)


class Session:
    """One run of `--rlperf-prove`."""

    def __init__(
        self,
        file: Path,
        tests: Mapping[str, Fake] = TWO,
        *,
        earlier: Sequence[Trial] = (),
        budget_s: float = 1000.0,
        round_s: float = 1000.0,
        stop_in_round: int | None = None,
    ) -> None:
        self.place = Place(tests, stop_in_round)
        self.shown: list[Progress] = []
        benchmarks = tuple(Benchmark(n, t.spec, "abc", f"pytest {n}") for n, t in tests.items())
        kinds = {b.nodeid: VerdictKind("abc", 0.05, FACTS) for b in benchmarks}
        subject = Subject(benchmarks, kinds, WorkingState("a" * 40, False), BaseRevision())
        self.rounds = ProofRounds(
            subject,
            STAGE,
            file=file,
            earlier=earlier,
            budget=Budget(budget_s, 100.0, lambda: self.place.now),
            round_s=round_s,
            show=self.shown.append,
            blocks=self.place,
        )
        try:
            self.rounds.play()
        except KeyboardInterrupt:
            assert stop_in_round is not None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "trials.jsonl"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "CASES", (Case(0.0, 8), Case(0.10, 4)))


def test_head_is_slower_and_the_rest_is_the_same():
    stage = against_itself(STAGE, 0.1, seed=7)
    head, base = stage.sides
    assert (head.slowdown, base.slowdown) == (0.1, 0.0)
    assert (head.side, base.side) == (HEAD, BASE)
    assert replace(base, side=HEAD) == STAGE.sides[HEAD] == replace(head, slowdown=0.0)
    assert stage.seed == 7


def test_changes_take_turns_until_each_has_its_verdicts(file: Path):
    session = Session(file)
    assert session.place.injected == [0.0, 0.1, 0.0, 0.0, 0.1, 0.0]
    assert [goal.done for goal in session.rounds.proof().goals] == [8, 4]


def test_what_was_slowed_is_called_and_what_was_not_is_not(file: Path):
    unchanged, slower = Session(file).rounds.proof().cases
    assert (unchanged.slower.hits, unchanged.n) == (0, 8)
    assert (slower.slower.hits, slower.n) == (4, 4)
    assert slower.mean_change == pytest.approx(0.1, abs=0.002)


def test_every_verdict_is_on_disk(file: Path):
    session = Session(file)
    trials = read(file)
    assert len(trials) == session.rounds.proof().verdicts == 12
    assert {trial.nodeid for trial in trials} == {"a", "b"}
    assert {trial.commit for trial in trials} == {"a" * 40}


def test_the_seconds_of_all_verdicts_are_those_of_the_rounds(file: Path):
    session = Session(file)
    total = sum(trial.seconds for trial in read(file))
    assert total == pytest.approx(session.place.now - 100.0, abs=0.01)


def test_a_later_session_goes_on_where_the_last_one_stopped(file: Path):
    tests = {name: Fake(seconds=2.0) for name in TWO}
    first = Session(file, tests, budget_s=22)
    assert 0 < len(first.place.rounds) < 6
    second = Session(file, tests, earlier=read(file))
    assert first.place.injected + second.place.injected == [0.0, 0.1, 0.0, 0.0, 0.1, 0.0]
    proof = second.rounds.proof()
    assert proof.verdicts == 12
    assert proof.added == 12 - 2 * len(first.place.rounds)


def test_when_all_is_known_nothing_is_measured(file: Path):
    Session(file)
    session = Session(file, earlier=read(file))
    assert session.place.rounds == []
    assert (session.rounds.proof().verdicts, session.rounds.proof().added) == (12, 0)


def test_verdicts_of_another_kind_are_left_out(file: Path):
    Session(file, {"a": Fake()})
    earlier = [replace(trial, threshold=0.02) for trial in read(file)]
    proof = Session(file, {"a": Fake()}, earlier=earlier).rounds.proof()
    assert (proof.left_out, proof.verdicts) == (12, 12)


def test_a_round_that_would_not_fit_into_the_time_is_not_begun(file: Path):
    long = a_trial("a", injected=0.1, seconds=50.0)
    session = Session(file, {"a": Fake()}, earlier=[long], budget_s=40.0)
    assert session.place.injected == [0.0] * 3  # and then one of 50 s


def test_the_first_round_is_played_however_little_time_there_is(file: Path):
    Session(file, {"a": Fake(seconds=1.0)})
    short = Session(file, {"a": Fake(seconds=1.0)}, earlier=read(file)[:1], budget_s=4.5)
    assert len(short.place.rounds) == 1


def test_what_a_round_leaves_open_is_inconclusive_as_in_a_usual_run(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rounds, "CASES", (Case(0.0, 1),))
    Session(file, {"a": Fake(unsure, seconds=1.0)}, round_s=5.0)
    (trial,) = read(file)
    assert (trial.outcome, trial.blocks) == (Outcome.INCONCLUSIVE, 4)


def test_what_was_decided_before_an_interrupt_is_kept_and_the_rest_is_not(file: Path):
    session = Session(file, stop_in_round=2)
    assert session.place.injected == [0.0, 0.1]
    assert [trial.injected for trial in read(file)] == [0.0, 0.0]
    assert session.rounds.proof().verdicts == 2


def test_a_test_that_fails_is_no_verdict_and_has_no_second_round(file: Path):
    session = Session(file, {"a": Fake(), "broken": Fake(scout=State.FAILED)})
    assert {trial.nodeid for trial in read(file)} == {"a"}
    _, second = session.place.rounds[1]
    assert {task.nodeid for task in second.ran[0]} == {"a"}
    results = {test.nodeid: test for test in session.rounds.results()}
    assert results["broken"].failure is not None
    assert session.rounds.proof().uncounted == {}


def test_when_every_test_fails_there_is_one_round(file: Path):
    session = Session(file, {"broken": Fake(scout=State.FAILED)})
    assert len(session.place.rounds) == 1
    assert not file.exists()


def test_a_test_whose_sides_differ_is_told(file: Path):
    session = Session(file, {"a": Fake(), "odd": Fake(work={"updates": 3})})
    assert session.rounds.proof().uncounted == {
        "odd": "the sides did not do the same work: updates is missing on the base and 3 on head"
    }


def test_progress_names_the_round_and_counts_the_whole_time(file: Path):
    session = Session(file)
    last = session.shown[-1]
    assert last.label == "round 6, unchanged"
    assert (last.elapsed_s, last.budget_s) == (session.place.now - 100.0, 1000.0)
    assert session.shown[-1].elapsed_s > session.shown[0].elapsed_s
    assert "round 2, +10.0 %" in {progress.label for progress in session.shown}


# -- which change is played next, and which verdicts count --------------------------------------


def test_goals_count_the_verdicts_on_each_change():
    trials = [a_trial(), a_trial(injected=0.1), a_trial(injected=0.2)]
    assert goals([Case(0.0, 10), Case(0.1, 5)], trials) == (Goal(0.0, 1, 10), Goal(0.1, 1, 5))


def test_the_change_with_the_smallest_share_comes_next():
    assert next_goal([Goal(0.0, 3, 10), Goal(0.1, 1, 5)]) == Goal(0.1, 1, 5)
    assert next_goal([Goal(0.0, 1, 10), Goal(0.1, 1, 5)]) == Goal(0.0, 1, 10)


def test_one_that_has_all_of_its_verdicts_does_not_come_again():
    assert next_goal([Goal(0.0, 12, 10), Goal(0.1, 4, 5)]) == Goal(0.1, 4, 5)
    assert next_goal([Goal(0.0, 12, 10), Goal(0.1, 5, 5)]) is None
    assert next_goal([Goal(0.0, 0, 0)]) is None


def test_a_first_run_sees_unchanged_code_then_the_clearest_change():
    first = next_goal(goals(CASES, []))
    second = next_goal(goals(CASES, [a_trial()]))
    assert first
    assert second
    assert (first.injected, second.injected) == (0.0, 0.1)


@examples
@given(st.integers(1, 40))
def test_turns_keep_the_shares_even(tests: int):
    """Whatever number of verdicts a round gives."""
    done = dict.fromkeys((case.injected for case in CASES), 0)
    for _ in range(30):
        goal = next_goal([Goal(c.injected, done[c.injected], c.wanted) for c in CASES])
        if goal is None:
            break
        done[goal.injected] += tests
    shares = [done[case.injected] / case.wanted for case in CASES]
    assert max(shares) - min(shares) <= tests / min(case.wanted for case in CASES)


def test_a_round_should_take_what_earlier_ones_of_the_same_change_took():
    goal = Goal(0.1, 1, 5)
    other, same = a_trial(seconds=2.0), a_trial(injected=0.1, seconds=5.0)
    assert expected_s(goal, [other, same], tests=3) == 15.0
    assert expected_s(goal, [other], tests=3) == 6.0
    assert expected_s(goal, [], tests=3) == 0.0


# Which verdicts are counted together.


FINGERPRINT: Fingerprint = {
    "cpu": "Some CPU",
    "cores": 2,
    "pinned_to": [0, 1],
    "architecture": "x86_64",
    "system": "Linux 6",
    "python": "3.11.7",
    "python_build": "3.11.7, GCC 12.2.0",
    "addresses": "fixed",
    "implementation": "CPython",
    "libraries": {"pytest-rlperf": "0.1.0"},
    "threads": {},
}
TEST = Benchmark("test_a.py::test_a", Spec(), "abc", "pytest")
KINDS = kinds_of([TEST], BaseRevision(), FINGERPRINT)
SAME = a_trial(facts=KINDS[TEST.nodeid].facts)


def test_the_threshold_is_the_one_that_applies_to_the_test():
    strict = replace(TEST, nodeid="b", spec=Spec(threshold=0.02))
    kinds = kinds_of([TEST, strict], BaseRevision(0.03), FINGERPRINT)
    assert {nodeid: kind.threshold for nodeid, kind in kinds.items()} == {
        TEST.nodeid: 0.03,
        "b": 0.02,
    }


@pytest.mark.parametrize(
    "other", [{"commit": None}, {"dirty": True}, {"injected": 0.1}, {"created": "2031-01-01"}]
)
def test_verdicts_on_other_code_count_too(other: dict[str, Any]):
    """They are no less verdicts of this gate on this machine."""
    trials = [SAME, replace(SAME, **other)]
    assert counting(trials, KINDS) == trials


@pytest.mark.parametrize(
    "other",
    [
        {"nodeid": "test_a.py::test_b"},
        {"source_hash": "other"},
        {"threshold": 0.1},
        {"facts": {**SAME.facts, "cpu": "Another CPU"}},
        {"facts": {**SAME.facts, "pytest-rlperf": "0.2.0"}},
        {"facts": {**SAME.facts, "pinned": False}},
        {"facts": {**SAME.facts, "threads": 2}},
    ],
)
def test_other_tests_thresholds_versions_and_machines_do_not_count(other: dict[str, Any]):
    assert counting([SAME, replace(SAME, **other)], KINDS) == [SAME]


def test_a_verdict_rests_on_a_comparison():
    measured = verdict(Outcome.INCONCLUSIVE, change=(0.01, -0.1, 0.1))
    assert is_verdict(a_test(verdict=measured))
    assert not is_verdict(a_test(verdict=verdict(Outcome.INCONCLUSIVE)))
    assert not is_verdict(a_test(verdict=verdict(Outcome.FAILED)))
    assert not is_verdict(a_test(verdict=verdict(Outcome.INCOMPARABLE, change=(0.0, 0.0, 0.0))))


def test_a_test_that_a_round_did_not_reach_has_its_turn_in_the_next(file: Path):
    session = Session(file, {"a": Fake(seconds=2.0), "b": Fake(seconds=2.0)}, round_s=20)
    judged = [trial.nodeid for trial in read(file)]
    assert judged[:2] in (["a", "b"], ["b", "a"])
    assert session.rounds.proof().uncounted == {}
