"""Whatever happens to a process of a pipeline: it is said, and nothing is left behind."""

from functools import partial

import pytest

from rl_impls.errors import WorkerDied
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from rl_impls.runtimes.actor_learner.train import train
from tests.rl_impls.leftovers import (
    assert_all_end_with_the_program,
    assert_ctrl_c_keeps_what_was_learned,
    assert_one_that_is_killed_ends_all,
    running,
    segments,
)
from tests.rl_impls.runtimes import games
from tests.rl_impls.runtimes.actor_learner.worlds import agent_for, troubled

# Trains for ever with two actors, and says which processes when they are at it.
FOREVER = """
import psutil
from rl_impls.runtimes.actor_learner.train import train
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from tests.rl_impls.runtimes.actor_learner.worlds import agent_for, cartpole

def tell(report):
    if not said:
        said.append(True)
        children = psutil.Process().children()
        print(*(child.pid for child in children if "spawn_main" in " ".join(child.cmdline())))
        print(flush=True)

said = []
if __name__ == "__main__":
    agent = agent_for(update_every={update_every})
    settings = PipelineSettings(actors=2, report_every=1_000)
    try:
        train(agent, cartpole, 10**12, settings, tell=tell)
    finally:
        print("learned", agent.n_steps > 0, flush=True)
"""
# Has actors that look at no pipe, as while they compile, and says which processes they are.
COMING_UP = """
import os
import threading
import time
from pathlib import Path

from rl_impls.runtimes.actor_learner.train import train
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from tests.rl_impls.runtimes.actor_learner.worlds import agent_for

folder = Path(__file__).parent

def busy(*, seed):
    (folder / f"{os.getpid()}.up").touch()
    time.sleep(3600)

def tell():
    while len(up := list(folder.glob("*.up"))) < 2:
        time.sleep(0.02)
    print(*(file.stem for file in up), flush=True)

if __name__ == "__main__":
    threading.Thread(target=tell, daemon=True).start()
    train(agent_for(), busy, 10**12, PipelineSettings(actors=2))
"""
# One in which actors wait for room, and one in which the learner waits for rows.
PACES = {"learner behind": 1, "learner ahead": 1_000_000}


@pytest.fixture(autouse=True)
def no_shared_memory_is_left():
    before = segments()
    yield
    assert segments() <= before


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (games.be_killed, r"actor [01] \(process \d+\) was killed by SIGKILL"),
        (games.leave, r"actor [01] \(process \d+\) left with exit code 3"),
        (games.divide_by_zero, "actor [01] raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_dead_actor_is_named_with_its_reason_and_the_agent_keeps_what_it_learned(trouble, said):
    agent = agent_for()
    settings = PipelineSettings(actors=2, capacity=256, batch_rows=200)
    with pytest.raises(WorkerDied, match=f"{said}.*can be saved"):
        train(agent, partial(troubled, trouble), 10**9, settings, seed=0)
    assert agent.n_steps >= 200


def test_an_actor_that_cannot_begin_is_named_too():
    with pytest.raises(WorkerDied, match="actor 0 raised ZeroDivisionError"):
        train(agent_for(), _no_env, 1_000)


def _no_env(*, seed):
    return games.divide_by_zero()


@pytest.fixture(params=PACES)
def training(request, tmp_path):
    source = FOREVER.replace("{update_every}", str(PACES[request.param]))
    with running(source, tmp_path) as (program, actors):
        assert len(actors) == 2
        yield program, actors


def test_actors_end_when_the_learner_is_killed(training):
    assert_all_end_with_the_program(*training)


def test_actors_that_still_compile_end_when_the_learner_is_killed(tmp_path):
    with running(COMING_UP, tmp_path) as (program, actors):
        assert_all_end_with_the_program(program, actors)


def test_ctrl_c_ends_all_processes_and_keeps_what_was_learned(training):
    assert_ctrl_c_keeps_what_was_learned(*training)


def test_a_killed_actor_ends_the_training(training):
    program, actors = training
    assert_one_that_is_killed_ends_all(program, actors, actors[1])
