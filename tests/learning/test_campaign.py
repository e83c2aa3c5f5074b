"""Seeds on both sides until a test is decided, with trainings that take no time."""

from collections.abc import Callable, Generator
from typing import Any

import pytest

from pytest_rlperf.baselines.levels import LearningLevel
from pytest_rlperf.gate.budget import Budget
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.learning.campaign import (
    SURE_SEEDS,
    LearningCampaign,
    unseen,
)
from pytest_rlperf.learning.runs import SeedTask, Trained
from pytest_rlperf.learning.track import AHEAD, StoredReturns
from pytest_rlperf.model.learning import STORED_POINTS, LearningSpec, Training, thinned
from pytest_rlperf.model.metric import Metric, Outcome
from pytest_rlperf.model.result import Progress, TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.wire import BASE, HEAD
from pytest_rlperf.workers.side import SideRun, State

Returns = Callable[[int], float | None]
"""By seed; None: the training fails."""


class FakeRuns:
    """Two lanes that take turns, with workers of both sides."""

    def __init__(self, head: Returns, base: Returns, stop_after: int | None = None) -> None:
        self._returns = {HEAD: head, BASE: base}
        self._stop_after = stop_after
        self.trained: list[SeedTask] = []

    def run(
        self, benchmark: Benchmark, seeds: Any, timeout_s: float, until: float
    ) -> Generator[Trained, None, None]:
        while seeds.open and self._stop_after != len(self.trained):
            task = seeds.next_task({HEAD, BASE})
            assert task is not None
            self.trained.append(task)
            value = self._returns[task.side](task.seed)
            failed = Training(task.seed, failure="boom")
            training = failed if value is None else Training(task.seed, {"": ((0.0, value),)})
            state = State.RAN if training.failure is None else State.FAILED
            yield Trained(task, SideRun(state, training.failure or ""), training)


def noisy(level: float, start: int = 0) -> Returns:
    """Returns that differ from seed to seed by up to a tenth, in no order."""
    return lambda seed: level * (1 + 0.1 * (((seed + start) * 7919) % 101 / 50 - 1))


NODE = "t.py::test"


def played(
    head: Returns,
    base: Returns,
    stop_after: int | None = None,
    stored: StoredReturns | None = None,
    gates: int = 1,
    **spec: Any,
) -> tuple[TestResult, FakeRuns]:
    runs = FakeRuns(head, base, stop_after)
    b = Benchmark(NODE, Spec(), "", "pytest", learning=LearningSpec(**spec), timed=False)
    show: Callable[[Progress], None] = lambda progress: None  # noqa: E731
    campaign = LearningCampaign([b], runs, gates=gates, show=show, stored=stored)  # type: ignore[arg-type]
    campaign.run(Budget(100.0, 0.0, clock=lambda: 0.0))
    campaign.close(100.0, interrupted=False)
    return campaign.attached(b.nodeid), runs


def metric_of(test: TestResult) -> Metric:
    (metric,) = test.metrics
    return metric


def test_the_same_curves_are_identical_after_the_first_seeds():
    test, runs = played(noisy(500), noisy(500))
    assert test.outcome is Outcome.IDENTICAL
    assert len(runs.trained) == 2 * SURE_SEEDS
    assert metric_of(test).base == metric_of(test).head


def test_other_draws_pass():
    test, _ = played(noisy(500, start=37), noisy(500))
    assert test.outcome is Outcome.UNCHANGED
    assert "within the allowed 10.0 %" in test.worst.reason


def test_who_learns_less_has_regressed_after_a_few_seeds():
    test, runs = played(noisy(300), noisy(500))
    assert test.outcome is Outcome.REGRESSED
    assert test.worst.interval is not None
    assert test.worst.interval.low > 0.10
    assert len(runs.trained) <= 2 * 12 + AHEAD
    assert metric_of(test).value == pytest.approx(300, rel=0.1)


def test_who_learns_more_has_improved():
    assert played(noisy(900), noisy(500))[0].outcome is Outcome.IMPROVED


def test_a_change_at_the_threshold_stays_open_until_the_seeds_are_used_up():
    test, runs = played(noisy(450, start=11), noisy(500), seeds=tuple(range(12)))
    assert test.outcome is Outcome.INCONCLUSIVE
    assert "12 seeds could not tell it from the allowed 10.0 %; give it more seeds" in (
        test.worst.reason
    )
    assert len(runs.trained) == 24


def test_seeds_that_are_too_few_for_so_many_verdicts_are_named():
    """Nothing is learned any more, and yet it is not said that they could not tell."""
    test, _ = played(lambda seed: None, noisy(500), gates=500, seeds=tuple(range(12)))
    assert test.outcome is Outcome.INCONCLUSIVE
    assert "12 seeds are too few to call anything worse among 500 verdicts, " in test.worst.reason
    assert "are the least; give it more seeds" in test.worst.reason


def test_no_seed_is_left_out_and_none_trained_twice():
    _, runs = played(noisy(450, start=11), noisy(500), seeds=(5, 3, 9, 1, 8, 2))
    assert sorted((task.seed, task.side) for task in runs.trained) == sorted(
        (seed, side) for seed in (5, 3, 9, 1, 8, 2) for side in (HEAD, BASE)
    )


def test_nobody_hurries_far_ahead_of_what_is_judged():
    b = Benchmark("t.py::test", Spec(), "", "pytest", learning=LearningSpec())
    track = LearningCampaign([b], FakeRuns(noisy(1), noisy(1)), gates=1, show=print).tracks[  # type: ignore[arg-type]
        b.nodeid
    ]
    own = [track.next_task({HEAD}) for _ in range(AHEAD)]
    assert [task.side for task in own if task] == [HEAD] * AHEAD
    other = track.next_task({HEAD})
    assert other == SeedTask(BASE, 0)
    assert [track.next_task({BASE}) for _ in range(AHEAD)][-1] is None


def test_seeds_that_fail_count_as_the_worst_return():
    test, _ = played(lambda seed: None if seed % 2 else 500.0, noisy(500))
    assert test.outcome is Outcome.REGRESSED
    assert test.learning is not None
    assert test.learning.worst == 0.0
    assert min(metric_of(test).head) == 0.0


def test_a_training_that_fails_everywhere_is_a_failure_of_the_test():
    test, runs = played(lambda seed: None, lambda seed: None)
    assert test.outcome is Outcome.FAILED
    assert test.failure is not None
    assert "the training fails with every seed" in test.failure.text
    assert "boom" in test.failure.text
    assert len(runs.trained) <= 2 * SURE_SEEDS + 2 * AHEAD


def test_a_base_that_learns_nothing_cannot_be_compared_with():
    test, _ = played(noisy(500), lambda seed: 0.0, seeds=tuple(range(6)))
    assert test.outcome is Outcome.INCOMPARABLE
    assert "the base learns nothing beyond the worst return" in test.worst.reason


@pytest.mark.parametrize("trained", [0, 1])
def test_without_a_pair_it_was_not_measured(trained: int):
    test, _ = played(noisy(500), noisy(300), stop_after=trained)
    assert test.outcome is Outcome.NOT_MEASURED
    assert "the budget of 100 s did not reach its learning" in test.worst.reason


def test_what_was_trained_in_time_is_judged():
    test, _ = played(noisy(300), noisy(500), stop_after=8)
    assert test.outcome is Outcome.INCONCLUSIVE
    assert "4 seeds could not tell it from the allowed 10.0 %; raise --rlperf-budget" in (
        test.worst.reason
    )
    assert len(metric_of(test).head) == 4


class KeptInVain:
    """What earlier runs have trained: nothing; Ctrl+C comes as often as told before it is kept."""

    def __init__(self, interrupted: int) -> None:
        self._interrupted = interrupted
        self.seeds: dict[int, set[int]] = {HEAD: set(), BASE: set()}

    def load(self, benchmark: Benchmark, side: int) -> dict[int, Training]:
        return {}

    def keep(self, benchmark: Benchmark, side: int, seeds: dict[int, Training]) -> None:
        self._interrupted -= 1
        if self._interrupted == 0:
            raise KeyboardInterrupt
        self.seeds[side] = set(seeds)


@pytest.mark.parametrize("before", range(1, 7))
def test_what_is_told_after_ctrl_c_is_kept(before: int):
    """The last training of a run, too, whose keeping Ctrl+C broke off."""
    b = Benchmark(NODE, Spec(), "", "pytest", learning=LearningSpec(), timed=False)
    kept = KeptInVain(interrupted=before)
    runs = FakeRuns(noisy(1), noisy(1))
    campaign = LearningCampaign([b], runs, gates=1, show=lambda _: None, kept=kept)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        campaign.run(Budget(100.0, 0.0, clock=lambda: 0.0))
    campaign.close(100.0, interrupted=True)
    assert {SeedTask(side, s) for side in (HEAD, BASE) for s in kept.seeds[side]} == {*runs.trained}
    assert len(runs.trained) == before


def test_what_eight_seeds_may_miss():
    assert unseen(8) == pytest.approx(0.31, abs=0.01)


# -- without a revision -------------------------------------------------------------------------


def nothing(seed: int) -> float:
    raise AssertionError("the base is stored, and not trained")


def stored(returns: Returns | None, seeds: int = 12, saving: bool = False) -> StoredReturns:
    if returns is None:
        return StoredReturns({}, saving)
    trainings = [Training(s, {"": ((0.0, returns(s) or 0.0),)}) for s in range(seeds)]
    return StoredReturns({NODE: LearningLevel(tuple(trainings), "another machine")}, saving)


def test_head_alone_is_trained_with_the_seeds_that_are_stored():
    level = stored(noisy(500))
    test, runs = played(noisy(450, start=11), nothing, stored=level)
    assert [task.seed for task in runs.trained] == list(range(12))
    assert test.outcome is Outcome.INCONCLUSIVE
    assert "save it again with more seeds" in test.worst.reason
    assert test.worst.label == "another machine"


def test_a_stored_base_gives_the_verdict_that_a_trained_one_gives():
    trained, _ = played(noisy(300), noisy(500))
    against_stored, _ = played(noisy(300), nothing, stored=stored(noisy(500), seeds=64))
    assert against_stored.worst.interval == trained.worst.interval
    assert against_stored.outcome is Outcome.REGRESSED


def test_a_save_trains_every_seed_whatever_is_decided():
    level = stored(noisy(500), saving=True)
    test, runs = played(noisy(500), nothing, stored=level, seeds=tuple(range(20)))
    assert test.outcome is Outcome.IDENTICAL
    assert [task.seed for task in runs.trained] == list(range(20))
    assert test.learning is not None
    assert (len(test.learning.head), len(test.learning.base)) == (20, 12)


def test_a_first_save_has_nothing_to_compare_with():
    test, _ = played(noisy(500), nothing, stored=stored(None, saving=True), seeds=tuple(range(9)))
    assert test.outcome is Outcome.NO_BASELINE
    assert test.learning is not None
    assert (len(test.learning.head), test.learning.base) == (9, ())
    assert metric_of(test).value == pytest.approx(500, rel=0.1)


def test_a_save_that_came_to_no_training_says_so():
    test, _ = played(noisy(500), nothing, stop_after=0, stored=stored(None, saving=True))
    assert test.outcome is Outcome.NOT_MEASURED


def test_a_training_that_fails_with_every_seed_is_not_saved():
    test, runs = played(lambda seed: None, nothing, stored=stored(None, saving=True))
    assert test.outcome is Outcome.FAILED
    assert len(runs.trained) <= SURE_SEEDS + AHEAD


def test_other_seeds_than_the_stored_ones_are_not_compared():
    test, runs = played(noisy(500), nothing, stored=stored(noisy(500)), seeds=tuple(range(50, 60)))
    assert test.outcome is Outcome.INCOMPARABLE
    assert not runs.trained


def test_a_long_stored_curve_is_compared_with_as_many_points_of_head():
    long = tuple((float(step), 500.0 - 1 / (1 + step)) for step in range(5_000))
    assert len(thinned(long)) == STORED_POINTS
    assert thinned(long)[0] == long[0]
    assert thinned(long)[-1] == long[-1]
    assert thinned(thinned(long)) == thinned(long)
    assert thinned(long[:STORED_POINTS]) == long[:STORED_POINTS]
