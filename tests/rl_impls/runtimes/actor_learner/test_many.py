"""Several learners at once: each agent learns by itself, and all end when one fails."""

import multiprocessing
from dataclasses import replace
from functools import partial

import psutil
import pytest

from rl_impls.errors import SettingError, WorkerDied
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from rl_impls.runtimes.actor_learner.train import Plan, train_many
from tests.rl_impls.leftovers import (
    assert_all_end_with_the_program,
    assert_ctrl_c_keeps_what_was_learned,
    running,
    segments,
)
from tests.rl_impls.runtimes import games
from tests.rl_impls.runtimes.actor_learner.worlds import agent_for, cartpole, troubled

SMALL = PipelineSettings(capacity=256, batch_rows=200, stage_rows=16, report_every=1_000)
# Trains two agents for ever, and says which processes, learners first, when both are at it.
FOREVER = """
import psutil
from rl_impls.runtimes.actor_learner.train import Plan, train_many
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from tests.rl_impls.runtimes.actor_learner.worlds import agent_for, cartpole

def tell(report):
    names = {report.partition(":")[0]}
    if not names <= said:
        said.update(names)
        if len(said) == 2:
            own = psutil.Process()
            found = own.children() + own.children(recursive=True)
            print(*(child.pid for child in dict.fromkeys(found)
                    if "spawn_main" in " ".join(child.cmdline())), flush=True)

said = set()
if __name__ == "__main__":
    settings = PipelineSettings(report_every=1_000)
    plans = [Plan(name, agent_for(), cartpole, 10**12, settings) for name in ("left", "right")]
    try:
        train_many(plans, tell=tell)
    finally:
        print("learned", plans[1].agent.n_steps > 0, flush=True)
"""


@pytest.fixture(autouse=True)
def nothing_is_left():
    before, processes = segments(), set(psutil.Process().children())
    yield
    assert segments() <= before
    left = set(psutil.Process().children(recursive=True)) - processes
    assert [each for each in left if "spawn_main" in " ".join(each.cmdline())] == []


def test_each_agent_learns_from_its_own_actors_and_can_go_on():
    said: list[str] = []
    plans = [
        Plan("left", agent_for(), cartpole, 1_000, SMALL, seed=0),
        Plan("right", agent_for(update_every=2), cartpole, 2_000, SMALL, seed=1),
    ]
    done = train_many(plans, tell=said.append)
    for plan in plans:
        assert done[plan.name].steps == plan.agent.n_steps == plan.agent.replay.n_added
        assert done[plan.name].updates == plan.agent.updates_made > 0
    assert [plan.agent.n_steps for plan in plans] == [1_000, 2_000]
    assert {report.partition(": Processed ")[0] for report in said} == {"left", "right"}


def test_a_dead_actor_ends_all_with_both_names_and_agents_keep_what_they_learned():
    plans = [
        Plan("left", agent_for(), cartpole, 10**9, SMALL),
        Plan("right", agent_for(), partial(troubled, games.be_killed), 10**9, SMALL),
    ]
    said = r"^right: actor 0 \(process \d+\) was killed by SIGKILL: the training stopped"
    with pytest.raises(WorkerDied, match=said):
        train_many(plans)
    assert plans[1].agent.n_steps >= 200
    # It is told to end when it may not have begun.
    assert plans[0].agent.n_steps == plans[0].agent.replay.n_added


def test_a_killed_learner_ends_all_and_the_others_keep_what_they_learned():
    settings = replace(SMALL, report_every=200)
    plans = [Plan(name, agent_for(), cartpole, 10**9, settings) for name in ("left", "right")]

    def kill_the_learner_of_left(report):
        if report.startswith("right: "):
            (learner,) = (
                each for each in multiprocessing.active_children() if each.name.endswith("left")
            )
            learner.kill()

    said = r"^the learner of left \(process \d+\) was killed by SIGKILL: all trainings stopped"
    with pytest.raises(WorkerDied, match=said):
        train_many(plans, tell=kill_the_learner_of_left)
    assert plans[0].agent.n_steps == 0
    assert plans[1].agent.n_steps == plans[1].agent.replay.n_added >= 200


def test_plans_have_names_of_their_own():
    plan = Plan("left", agent_for(), cartpole, 1)
    for plans in ([], [plan, plan]):
        with pytest.raises(SettingError, match="names of their own"):
            train_many(plans)


@pytest.fixture
def training(tmp_path):
    with running(FOREVER, tmp_path) as (program, processes):
        assert len(processes) == 4
        yield program, processes


def test_all_end_when_the_program_is_killed(training):
    assert_all_end_with_the_program(*training)


def test_ctrl_c_ends_all_and_agents_keep_what_they_learned(training):
    assert_ctrl_c_keeps_what_was_learned(*training)
