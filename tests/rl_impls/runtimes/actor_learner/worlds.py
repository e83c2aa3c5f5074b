"""Environments and agents for the tests of pipelines; actors import them by name."""

from functools import partial

from rl_impls.agents.agent import shape_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.envs.control.make import make_batch

CARTPOLE = "rl_impls/CartPole-v1"
TROUBLE_AFTER_STEPS = 500

cartpole = partial(make_batch, CARTPOLE, 2)


def agent_for(make_env=cartpole, kind=DQN, settings=None, **others):
    settings = settings or DQNSettings(
        hidden=(16,), batch=8, buffer=20_000, learning_starts=100, **others
    )
    return kind(shape_of(make_env(seed=0)), settings, seed=0)


class TroubledBatch:
    """A batch in which something happens to the process after some steps."""

    def __init__(self, trouble, seed):
        self._batch = cartpole(seed=seed)
        self._trouble, self._n_steps = trouble, 0

    def __getattr__(self, name):
        return getattr(self._batch, name)

    def step(self, actions):
        self._n_steps += 1
        if self._n_steps == TROUBLE_AFTER_STEPS:
            self._trouble()
        return self._batch.step(actions)


def troubled(trouble, *, seed):
    return TroubledBatch(trouble, seed)
