"""The pipeline that is compared with: it does the same work, with locks and by looking."""

from typing import Any

import pytest

from rl_impls.agents.agent import train as train_in_one
from rl_impls.errors import SettingError
from rl_impls.runtimes.actor_learner.train import train
from tests.evidence.figures import presets
from tests.evidence.figures.first_pipeline import FirstSettings, FirstTransport
from tests.rl_impls.runtimes.actor_learner.worlds import agent_for, cartpole

SMALL: Any = {"capacity": 256, "batch_rows": 200, "stage_rows": 16}


def test_with_a_lock_it_does_the_work_of_one_process():
    alone, agent = agent_for(), agent_for()
    train_in_one(alone, cartpole(seed=0), 3_000)
    settings = FirstSettings(actors=2, lock="copy", **SMALL)
    trained = train(agent, cartpole, 3_000, settings, seed=0, transport=FirstTransport)
    assert trained.steps == agent.n_steps == alone.n_steps == agent.replay.n_added == 3_000
    assert trained.updates == agent.updates_made == alone.updates_made
    assert trained.drops == 0
    assert trained.episodes > 10
    assert 0 < trained.batches <= 3_000 // 200 + 1
    assert trained.published > 1
    assert trained.mean_lag <= trained.most_lag


def test_presets_do_the_same_work_and_the_figures_of_both_are_told(monkeypatch):
    monkeypatch.setattr(presets, "N_ACTORS", 1)
    (done,) = rounds = presets.measure(presets.presets(), 3, n_steps=2_000, n_rounds=1)
    original, optimised = (done[name].trained for name in ("original", "optimised"))
    assert (original.updates, optimised.updates, original.drops) == (333, 167, 0)
    assert original.batches > optimised.batches
    assert original.published > 10 * optimised.published
    first, *lines = presets.render(rounds).splitlines()
    assert first == "2,000 steps, 21,312 rows learned from, n = 1"
    assert [line.split()[:2] for line in lines[:2]] == [["original", "333"], ["optimised", "167"]]
    assert all("one seed tells nothing" in line for line in lines[2:])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"lock": "row"}, "lock is none, copy, batch, and not 'row'"),
        ({"poll_s": 0.0}, "poll_s lies above 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, says):
    with pytest.raises(SettingError, match=says):
        FirstSettings(**wrong)
