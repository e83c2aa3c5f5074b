"""Environments of deep agents: batches in compiled code, and the reactor part by part.

Where every running episode stands must agree on both sides: one that went another way did other
work.
"""

import gymnasium
import numpy as np
import pytest

import rl_impls.envs  # noqa: F401
from rl_impls import splitmix
from rl_impls.envs.control import reactor
from rl_impls.envs.control.compiled import CompiledBatch
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.reactor import coolant_flow, outlet_flow, reward, transition
from rl_impls.jit import compiled, version_of
from rl_impls.registry import time_limit

REACTOR_STEPS = time_limit("ChemicalReactor-v0")

pytestmark = pytest.mark.rlperf(category="environment")

N_ENVS = 1024
# About 5 ms a call.
N_ROUNDS = {"rl_impls/CartPole-v1": 300, "rl_impls/Pendulum-v1": 180}
N_REACTORS = 64
N_PIECES = 20_000


def where_it_stands(batch):
    return {"running_steps": int(batch.elapsed.sum())}


def play(batch, actions):
    for action in actions:
        batch.step(action)
    return batch


@pytest.mark.parametrize("name", N_ROUNDS)
def test_steps_of_a_batch(rlperf, name):
    n_rounds = N_ROUNDS[name]
    rng = np.random.default_rng(0)
    size = (n_rounds, N_ENVS)
    actions = (
        rng.integers(2, size=size)
        if name == "rl_impls/CartPole-v1"
        else rng.uniform(-2, 2, (*size, 1)).astype(np.float32)
    )
    batch = rlperf.measure(
        lambda batch: play(batch, actions),
        setup=lambda: make_batch(name, N_ENVS, seed=0),
        steps=n_rounds * N_ENVS,
        work=where_it_stands,
    )
    assert np.isfinite(batch.obs).all()
    # Random pushes let the pole fall after 22 on average; a pendulum is never done.
    assert (batch.elapsed < 150).mean() > 0.99 if n_rounds == 300 else (batch.elapsed == 180).all()


def controlled():
    """The actions that hold the reactors at their set point for a whole episode."""
    batch = CompiledBatch(reactor.reactor(), N_REACTORS, seed=0)
    actions = np.zeros((REACTOR_STEPS, N_REACTORS, 2), np.float32)
    for a_t in actions:
        np.clip(0.2 * (batch.obs[:, 1] - 350), -1, 1, out=a_t[:, 0])
        np.clip(2 * (batch.obs[:, 3] - 1), -1, 1, out=a_t[:, 1])
        assert not batch.step(a_t).terminated.any()
    return actions


@pytest.mark.parametrize(
    "constraints",
    [
        pytest.param(True, marks=pytest.mark.rlperf(kpi="safety_overhead"), id="checked"),
        pytest.param(False, marks=pytest.mark.rlperf(kpi="safety_overhead:without"), id="free"),
    ],
)
def test_an_episode_of_reactors(rlperf, constraints):
    actions = controlled()[:-1]  # short of the reset that ends it
    control = reactor.reactor(constraints=constraints)
    batch = rlperf.measure(
        lambda batch: play(batch, actions),
        setup=lambda: CompiledBatch(control, N_REACTORS, seed=0),
        steps=len(actions) * N_REACTORS,
        work=where_it_stands,
    )
    # Both are the episode that the actions were made for.
    assert np.abs(batch.obs[:, 1] - 350).max() < 0.1


def play_single(env, actions):
    env.reset(seed=0)
    for action in actions:
        obs, _, terminated, truncated, _ = env.step(action)
    return obs, terminated, truncated


@pytest.mark.rlperf(kpi="environment_step", steps=REACTOR_STEPS)
def test_an_episode_of_the_reactor_through_gymnasium(rlperf):
    # Row 0 of a batch has the stream of chance of a single environment.
    actions = controlled()[:, 0]
    obs, *ended = rlperf(play_single, gymnasium.make("ChemicalReactor-v0"), actions)
    assert ended == [False, True]
    assert obs[1] == pytest.approx(350, abs=0.1)


def make_pieces(version):
    @compiled
    def transitions(n, coolant, outlet):
        _ = version
        state = (500.0, 350.0, 1.0)
        for _i in range(n):
            state = transition(*state, coolant_flow(coolant), outlet_flow(outlet))
        return state

    @compiled
    def rewards(states, actions):
        _ = version
        total = 0.0
        for i in range(len(states)):
            total += reward(states[i, 0], states[i, 1], actions[i, 0], actions[i, 1])
        return total

    return transitions, rewards


transitions, rewards = make_pieces(version_of(reactor, reactor, splitmix))


@pytest.mark.rlperf(steps=N_PIECES)
def test_the_transition_of_the_reactor(rlperf):
    # All the coolant: it dies out and stays there.
    concentration, temperature, level = rlperf(transitions, N_PIECES, 1.0, 0.0)
    assert concentration > 900
    assert 290 < temperature < 330
    assert level == pytest.approx(1.0)


@pytest.mark.rlperf(steps=50 * N_PIECES)
def test_the_reward_of_the_reactor(rlperf):
    rng = np.random.default_rng(0)
    states = rng.uniform([400, 340], [600, 360], (50 * N_PIECES, 2))
    actions = rng.uniform(-1, 1, (50 * N_PIECES, 2))
    mean = rlperf(rewards, states, actions) / len(states)
    assert 0.5 < mean < 1.0
