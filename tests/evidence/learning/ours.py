"""Our side of a task."""

from __future__ import annotations

import time

import rl_impls
from rl_impls.agents.agent import shape_of
from rl_impls.agents.evaluation import BestCheckpoint
from rl_impls.envs.control.make import make_batch
from rl_impls.registry import make_agent
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import DeepRuntime, Validate
from tests.evidence.learning.played import (
    EVALUATION_SEED,
    N_VALIDATIONS,
    TABLE_EPISODES,
    Played,
    judged,
    validated,
)
from tests.evidence.learning.tasks import Task


def play(task: Task, seed: int) -> Played:
    return play_table(task, seed) if task.settings is None else play_deep(task, seed)


def play_table(task: Task, seed: int) -> Played:
    begin = time.process_time()
    learner = rl_impls.train(task.env, task.agent, steps=task.steps, seed=seed)
    seconds = time.process_time() - begin
    reached = rl_impls.evaluate(learner, task.env, TABLE_EPISODES, seed=EVALUATION_SEED)
    return Played(reached, reached, seconds)


def play_deep(task: Task, seed: int) -> Played:
    assert task.settings is not None
    env = make_batch(task.env, task.n_envs, seed=seed)
    agent = make_agent(shape_of(env), task.settings, seed=seed)
    best = BestCheckpoint(lambda agent: validated(agent, task.env))
    validate = Validate(Every(task.steps // N_VALIDATIONS), best)
    runtime = DeepRuntime(agent, env, threads=1)
    progress = run(runtime, task.steps, hooks=[validate], clock=time.process_time)
    final = judged(agent, task.env)
    best.restore_best(agent)
    return Played(final, judged(agent, task.env), progress.seconds)
