"""A compiled batch and Gymnasium's own environments, started alike and stepped together."""

from typing import Any

import gymnasium
import numpy as np

from rl_impls.envs.control.compiled import CompiledBatch


def compare(name, control, policy, n_envs, n_rounds, *, anew=False, **arguments):
    """Assert that every step agrees to 1e-6; return how many were terminated and truncated.

    `anew` begins every step from equal states, where the last bit of one would grow.
    """
    batch = CompiledBatch(control, n_envs, seed=7)
    theirs: list[Any] = [gymnasium.make(name, **arguments) for _ in range(n_envs)]
    for row, env in enumerate(theirs):
        _begin(env, batch.states[row])
    ended = np.zeros(2, np.int64)
    for _ in range(n_rounds):
        actions = policy(batch.obs)
        step = batch.step(actions)
        for row, env in enumerate(theirs):
            obs, reward, *flags, _ = env.step(actions[row])
            np.testing.assert_allclose(step.obs_t[row], obs, rtol=0, atol=1e-6)
            np.testing.assert_allclose(step.r_t[row], reward, rtol=1e-7, atol=1e-6)
            assert flags == [step.terminated[row], step.truncated[row]]
            ended += flags
            if any(flags):
                _begin(env, batch.states[row])
            else:
                np.testing.assert_allclose(
                    batch.states[row], env.unwrapped.state, rtol=0, atol=1e-6
                )
                if anew:
                    env.unwrapped.state = batch.states[row].copy()
    return ended.tolist()


def _begin(env, state):
    env.reset()
    env.unwrapped.state = state.copy()
