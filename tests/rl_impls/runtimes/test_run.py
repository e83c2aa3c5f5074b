"""A run: exact steps, hooks on the spot, and a clock that stands still for them."""

import pytest

from rl_impls.errors import SettingError
from rl_impls.runtimes import Every, SerialRuntime, Validation, run
from rl_impls.tabular.training import Training
from tests.rl_impls.runtimes.games import player, tictactoe


class Recorder:
    """A hook that remembers when it was called, and takes its time."""

    def __init__(self, every, clock=None):
        self.every = every
        self.clock = clock
        self.calls = []

    def __call__(self, progress, runtime):
        self.calls.append(progress)
        if self.clock is not None:
            self.clock.now += 1000.0


class FakeClock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class TwoSecondsALeg(SerialRuntime):
    """A runtime that only lets time pass."""

    def __init__(self, clock):
        super().__init__(player(), tictactoe(seed=1))
        self.clock = clock

    def train(self, n_steps, tick=None):
        self.clock.now += 2.0
        return Training(n_steps, 0, 0.0)


def serial(name="list"):
    return SerialRuntime(player(name), tictactoe(seed=1))


@pytest.mark.parametrize("n_steps", [0, 1, 250, 1001])
def test_a_run_makes_exactly_the_steps_asked_for(n_steps):
    runtime = serial()
    progress = run(runtime, n_steps, hooks=[Recorder(Every(100))])
    assert progress.done.steps == n_steps
    assert runtime.learner().n_steps == n_steps
    assert progress.done.episodes == runtime.learner().n_episodes


def test_a_hook_is_called_after_each_n_steps():
    hooks = [Recorder(Every(100)), Recorder(Every(70))]
    run(serial(), 350, hooks=hooks)
    assert [p.done.steps for p in hooks[0].calls] == [100, 200, 300]
    assert [p.done.steps for p in hooks[1].calls] == [70, 140, 210, 280, 350]


def test_a_hook_by_episodes_is_called_when_they_end_and_not_later():
    hook = Recorder(Every(40, "episode"))
    progress = run(serial(), 1000, hooks=[hook])
    assert [p.done.episodes for p in hook.calls] == list(range(40, progress.done.episodes + 1, 40))


def test_hooks_take_no_part_in_the_throughput():
    clock = FakeClock()
    hook = Recorder(Every(10), clock)
    progress = run(TwoSecondsALeg(clock), 50, hooks=[hook], clock=clock)
    assert len(hook.calls) == 5
    assert progress.seconds == 10.0
    assert progress.steps_per_s == 5.0


def test_validation_plays_on_its_own_environment_and_learns_nothing():
    told = []
    plain, validated = serial(), serial()
    env = tictactoe(seed=9)
    validation = Validation(Every(2000), env, 500, lambda *what: told.append(what))
    run(plain, 6000)
    run(validated, 6000, hooks=[validation])
    assert [progress.done.steps for progress, _ in told] == [2000, 4000, 6000]
    assert all(played.episodes == 500 for _, played in told)
    assert told[-1][1].win_rate > 0.6
    assert (plain.learner().table() == validated.learner().table()).all()


@pytest.mark.parametrize("name", ["list", "batch"])
def test_ticks_count_up_and_change_nothing(name):
    ticks: list[int] = []
    plain, ticking = serial(name), serial(name)
    run(plain, 5003)
    run(ticking, 5003, tick=ticks.append)
    assert ticks == sorted(ticks)
    assert ticks[-1] == 5003
    assert (plain.learner().table() == ticking.learner().table()).all()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(SettingError, match="not every 0"):
        Every(0)
    with pytest.raises(SettingError, match="not 'game'"):
        Every(1, "game")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="cannot be negative, as -1 is"):
        run(serial(), -1)


def test_a_hook_that_returns_true_ends_the_training_and_the_others_are_called_all_the_same():
    class Ends(Recorder):
        def __call__(self, progress, runtime):
            super().__call__(progress, runtime)
            return progress.done.steps >= 200

    first, second = Ends(Every(100)), Recorder(Every(100))
    progress = run(serial(), 1000, hooks=[first, second])
    assert progress.done.steps == 200
    assert len(first.calls) == len(second.calls) == 2
