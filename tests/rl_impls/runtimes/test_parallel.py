"""Several processes: exact steps, one table, and a player as good as one process makes."""

import os
from functools import partial

import numpy as np
import psutil
import pytest

from rl_impls.envs.tabular import make_tabular
from rl_impls.errors import SettingError
from rl_impls.runtimes import Every, Validation, run
from rl_impls.runtimes.machine import MOST_BY_DEFAULT, cap_threads, default_processes
from rl_impls.runtimes.parallel import ParallelRuntime
from rl_impls.tabular import LEARNERS
from rl_impls.tabular.training import Evaluation, evaluate
from tests.rl_impls.runtimes.games import player, tictactoe


def test_compiled_training_in_two_processes_plays_as_well_as_in_one():
    learner = player("compiled")
    with ParallelRuntime(learner, tictactoe, processes=2, seed=1) as runtime:
        legs = [runtime.train(n_steps) for n_steps in (1, 399_998, 600_001)]
        in_between = runtime.learner().table()
    assert [leg.steps for leg in legs] == [1, 399_998, 600_001]
    assert learner.n_steps == 1_000_000
    assert learner.n_episodes == sum(leg.episodes for leg in legs)
    np.testing.assert_array_equal(learner.table(), in_between)
    played = evaluate(learner, tictactoe(seed=0), 10_000, seed=1)
    assert played.win_rate >= 0.90
    assert played.loss_rate <= 0.02


def test_a_run_with_hooks_and_ticks_makes_exactly_its_steps_and_goes_on_from_the_learners_table():
    learner = player("sparse")
    learner.train(tictactoe(seed=0), 3_000)
    before = evaluate(learner, tictactoe(seed=0), 2_000).mean_return
    told: list[Evaluation] = []
    ticks: list[int] = []
    validation = Validation(
        Every(7_000), tictactoe(seed=5), 2_000, lambda progress, played: told.append(played)
    )
    with ParallelRuntime(learner, tictactoe, processes=3, steps_per_sync=500, seed=1) as runtime:
        progress = run(runtime, 20_003, hooks=[validation], tick=ticks.append)
        assert runtime.peak_rss_bytes() > 3 * 10_000_000
    assert progress.done.steps == 20_003
    assert learner.n_steps == 23_003
    assert ticks[-1] == 20_003
    assert len(told) == 2
    assert told[-1].mean_return > before
    assert np.isfinite(learner.table()).all()


def test_other_environments_train_too_and_workers_end_with_the_block():
    make_env = partial(make_tabular, "FrozenLake-v1", is_slippery=False)
    env = make_env(seed=0)
    learner = LEARNERS["numpy"](env.n_states, env.n_actions, seed=0)
    with ParallelRuntime(learner, make_env, processes=2, seed=0, pin=True) as runtime:
        pids = [child.pid for child in psutil.Process().children() if "spawn" in _words(child)]
        assert runtime.train(2_500).steps == 2_500
        assert set(runtime.facts.cores) <= os.sched_getaffinity(0)
        pinned = [tuple(psutil.Process(pid).cpu_affinity()) for pid in pids]
        assert sorted(pinned) == sorted((core,) for core in runtime.facts.cores)
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


def _words(process):
    return " ".join(process.cmdline())


def test_training_outside_the_block_is_refused():
    with pytest.raises(SettingError, match="train inside `with ParallelRuntime"):
        ParallelRuntime(player(), tictactoe).train(10)


@pytest.mark.parametrize("numbers", [{"processes": 0}, {"steps_per_sync": 0}, {"threads": -1}])
def test_numbers_that_make_no_sense_are_refused(numbers):
    with pytest.raises(SettingError, match="is at least 1, not"):
        ParallelRuntime(player(), tictactoe, **numbers)


def test_the_default_is_a_process_for_each_core_and_four_at_most():
    assert 1 <= default_processes() <= min(MOST_BY_DEFAULT, len(os.sched_getaffinity(0)))


def test_threads_of_blas_are_capped():
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    with cap_threads(1):
        assert all(pool["num_threads"] == 1 for pool in threadpool_info())
