"""The two-armed bandit."""

import numpy as np
import pytest

from rl_impls.envs.bandit import TwoArmedBandit
from rl_impls.envs.compiled import step_rows
from rl_impls.envs.model import DRAWS
from rl_impls.envs.tabular import make_tabular
from rl_impls.tabular import LEARNERS, Constant, Settings


def test_an_arm_pays_as_often_as_it_says_in_all_forms():
    model = TwoArmedBandit((0.2, 0.7))
    rng = np.random.default_rng(0)
    draws = rng.integers(DRAWS, size=4000, dtype=np.uint32)
    states, actions = np.zeros(4000, np.int64), rng.integers(2, size=4000)
    _, batched, terminated = model.step_batch(states, actions, draws)
    single = [model.step(0, a, d)[1] for a, d in zip(actions, draws.tolist(), strict=True)]
    compiled = np.zeros(4000, np.float32)
    step_rows(
        model.tables, states, actions, draws, draws, states.copy(), compiled, terminated.copy()
    )
    np.testing.assert_array_equal(batched, single)
    np.testing.assert_array_equal(batched, compiled)
    assert terminated.all()
    for arm, chance in enumerate((0.2, 0.7)):
        # About 2000 pulls each: 5 standard deviations are at most 0.056.
        assert (batched[actions == arm] > 0).mean() == pytest.approx(chance, abs=0.056)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_finds_the_rigged_arm(name):
    env = make_tabular("TwoArmedBandit-v0", seed=0)
    settings = Settings(learning_rate=Constant(0.05), epsilon=Constant(0.5))
    learner = LEARNERS[name](env.n_states, env.n_actions, settings=settings, seed=0)
    assert learner.train(env, 1000).episodes == 1000
    np.testing.assert_allclose(learner.table(), [[-0.8, 0.8]], atol=0.4)


def test_a_chance_beyond_one_is_refused():
    with pytest.raises(ValueError, match=r"between 0 and 1, not at 1\.5"):
        TwoArmedBandit((0.5, 1.5))
