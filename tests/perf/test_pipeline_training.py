"""A whole training by an actor and a learner, start of the actor included."""

from functools import partial

import pytest

from rl_impls.agents.agent import shape_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.envs.control.make import make_batch
from rl_impls.registry import ACTOR_LEARNER_PRESETS
from rl_impls.runtimes.actor_learner.train import train

STEPS = 20_000

make_env = partial(make_batch, "rl_impls/CartPole-v1", 1)


@pytest.mark.rlperf(category="pipeline")
def test_training_by_an_actor_and_a_learner(rlperf):
    own = DQNSettings(batch=64, update_every=16, buffer=50_000)
    settings = own.in_larger_batches(ACTOR_LEARNER_PRESETS["optimised"])

    def from_the_start():
        agent = DQN(shape_of(make_env(seed=0)), settings, seed=0)
        return train(agent, make_env, STEPS, seed=0)

    trained = rlperf.measure(
        from_the_start, steps=STEPS, work=lambda done: {"updates": done.updates}
    )
    assert trained.steps == STEPS
    assert trained.drops == 0
