"""Actors and a learner: the same work as in one process, every row accounted for."""

from typing import Any

import numpy as np
import pytest

from rl_impls.agents.agent import train as train_in_one
from rl_impls.agents.evaluation import evaluate
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.errors import SettingError
from rl_impls.runtimes.actor_learner.learner import Limits
from rl_impls.runtimes.actor_learner.settings import PipelineSettings
from rl_impls.runtimes.actor_learner.train import train
from tests.rl_impls.runtimes.actor_learner.worlds import CARTPOLE, agent_for, cartpole

SMALL: Any = {"capacity": 256, "batch_rows": 200, "stage_rows": 16}


@pytest.mark.parametrize("actors", [1, 2])
def test_it_does_the_work_of_one_process(actors):
    alone, agent = agent_for(), agent_for()
    train_in_one(alone, cartpole(seed=0), 3_000)
    settings = PipelineSettings(actors=actors, **SMALL)
    trained = train(agent, cartpole, 3_000, settings, seed=0)
    assert trained.steps == agent.n_steps == alone.n_steps == agent.replay.n_added == 3_000
    assert trained.updates == agent.updates_made == alone.updates_made
    assert trained.drops == 0
    assert trained.episodes > 10
    assert 0 < trained.batches <= 3_000 // 200 + 1
    assert trained.published > 1
    assert trained.mean_lag <= trained.most_lag


def test_rows_arrive_as_the_environments_made_them():
    agent = agent_for(update_every=1_000)
    train(agent, cartpole, 2_000, PipelineSettings(**SMALL), seed=0)
    state = agent.replay.state()
    # With one actor of two environments, row i + 2 goes on from where row i led or begins anew.
    goes_on = (state["obs_tm1"][2:] == state["obs_t"][:-2]).all(axis=1)
    begins = (np.abs(state["obs_tm1"][2:]) <= 0.05).all(axis=1)
    assert (goes_on | begins).all()
    assert not goes_on[state["terminated_t"][:-2]].any()
    assert goes_on.sum() > 1_500
    assert (state["r_t"] == 1.0).all()
    assert set(state["a_tm1"].tolist()) == {0, 1}


@pytest.mark.parametrize("when_full", ["drop-oldest", "drop-newest"])
def test_what_does_not_arrive_is_counted_as_dropped(when_full):
    agent = agent_for(update_every=1)
    settings = PipelineSettings(when_full=when_full, **SMALL)
    trained = train(agent, cartpole, 20_000, settings, seed=0)
    assert trained.steps + trained.drops == 20_000
    assert trained.steps == agent.replay.n_added


def test_reports_have_both_lines_and_warn_beyond_limits():
    said: list[str] = []
    agent = agent_for()
    settings = PipelineSettings(report_every=1_000, **SMALL)
    limits = Limits(most_lag=-1.0)
    train(agent, cartpole, 3_000, settings, seed=0, limits=limits, tell=said.append)
    assert len(said) == 3
    for report in said:
        counts, learning, *warnings = report.splitlines()
        assert counts.startswith("Processed ")
        assert all(f", {word} " in counts for word in ("Batches", "Drops", "Buffer", "Queue"))
        assert learning.startswith("Loss ")
        assert all(f", {word} " in learning for word in ("TD error", "Return", "Epsilon", "Lag"))
        assert any("updates behind: lower publish_interval" in warning for warning in warnings)


def test_training_goes_on_from_where_an_agent_stands():
    agent = agent_for(epsilon_over=10**9)
    for n in (1, 2):
        trained = train(agent, cartpole, 1_000, PipelineSettings(**SMALL), seed=n)
        assert trained.steps == 1_000
        assert agent.n_steps == n * 1_000


def test_qr_dqn_learns_through_a_pipeline():
    settings = QRDQNSettings(
        learning_rate=1e-3, target_every=250, n_quantiles=20, batch=64, epsilon_over=4_000
    )
    agent = agent_for(kind=QRDQN, settings=settings)
    settings_of_pipeline = PipelineSettings(
        capacity=64, batch_rows=32, stage_rows=8, publish_interval=1, sync_interval=1
    )
    train(agent, cartpole, 12_000, settings_of_pipeline, seed=0)
    assert evaluate(agent, CARTPOLE, 20).mean() > 100


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"actors": 0}, "actors is at least 1, not 0"),
        ({"capacity": 500}, "never holds the 1000 that the learner waits for"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, says):
    with pytest.raises(SettingError, match=says):
        PipelineSettings(**wrong)
