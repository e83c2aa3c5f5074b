"""Whatever happens to a process of a training: it is said, and nothing is left behind."""

from functools import partial

import pytest

from rl_impls.errors import WorkerDied
from rl_impls.runtimes.parallel import ParallelRuntime
from rl_impls.runtimes.processes import exit_reason
from rl_impls.tabular import LEARNERS
from tests.rl_impls.leftovers import (
    assert_all_end_with_the_program,
    assert_ctrl_c_keeps_what_was_learned,
    assert_one_that_is_killed_ends_all,
    running,
    segments,
)
from tests.rl_impls.runtimes import games
from tests.rl_impls.runtimes.games import player

# Trains for ever in two processes, and says which ones when they are at it.
FOREVER = """
import psutil, sys
from rl_impls.runtimes.parallel import ParallelRuntime
from tests.rl_impls.runtimes.games import player, tictactoe

def tick(n):
    if n > 0 and not said:
        said.append(True)
        print(*(child.pid for child in psutil.Process().children()), flush=True)

said = []
if __name__ == "__main__":
    learner = player("list")
    try:
        with ParallelRuntime(learner, tictactoe, processes=2) as runtime:
            runtime.train(10**15, tick)
    finally:
        print("learned", learner.n_steps > 0, flush=True)
"""


@pytest.fixture(autouse=True)
def no_shared_memory_is_left():
    before = segments()
    yield
    assert segments() <= before


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (games.be_killed, r"worker [01] \(process \d+\) was killed by SIGKILL"),
        (games.leave, r"worker [01] \(process \d+\) left with exit code 3"),
        (games.divide_by_zero, "worker [01] raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_dead_worker_is_named_with_its_reason_and_the_table_so_far_is_kept(
    trouble, said, tmp_path
):
    learner = player("list")
    make_env = partial(games.troubled, trouble)
    with (
        pytest.raises(WorkerDied, match=f"{said}.*can be saved"),
        ParallelRuntime(learner, make_env, processes=2, seed=0) as runtime,
    ):
        runtime.train(10**9)
    assert learner.n_steps >= 2_000
    learner.save(tmp_path / "so_far.npz")
    assert LEARNERS["list"].load(tmp_path / "so_far.npz").n_steps == learner.n_steps


def test_a_worker_that_cannot_begin_is_named_too():
    with (
        pytest.raises(WorkerDied, match="raised ZeroDivisionError"),
        ParallelRuntime(player(), _no_env, processes=2),
    ):
        pytest.fail("it began")


def _no_env(*, seed):
    return games.divide_by_zero()


@pytest.fixture
def training(tmp_path):
    """A program that trains, and the processes that are its workers."""
    with running(FOREVER, tmp_path) as (program, children):
        assert len(children) >= 2
        yield program, children


def test_workers_end_when_their_parent_is_killed(training):
    assert_all_end_with_the_program(*training)


def test_ctrl_c_ends_all_processes_and_keeps_the_table(training):
    assert_ctrl_c_keeps_what_was_learned(*training)


def test_a_killed_worker_ends_the_training(training):
    program, children = training
    worker = max(children, key=lambda child: sum(child.cpu_times()[:2]))
    assert_one_that_is_killed_ends_all(program, children, worker)


@pytest.mark.parametrize(
    ("exit_code", "reason"),
    [
        (-11, "was killed by SIGSEGV"),
        (-250, "was killed by signal 250"),
        (1, "left with exit code 1"),
        (None, "closed its connection"),
    ],
)
def test_exit_codes_are_told_in_words(exit_code, reason):
    assert exit_reason(exit_code) == reason
