"""JAX: compiling, execution by the size of arrays, memory, and the updates of agents on it."""

import numpy as np
import pytest

from rl_impls.agents.agent import shape_of, train
from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.ppo import PPOSettings
from rl_impls.envs.control.make import make_batch

jax = pytest.importorskip("jax", reason="jax is not installed: pip install 'pytest-rlperf[jax]'")
pytestmark = pytest.mark.rlperf(category="jax")

# A GPU stands beside the CPU where there is one.
PLATFORMS = sorted({"cpu", *(device.platform for device in jax.devices())})
CARTPOLE = "rl_impls/CartPole-v1"
N_ENVS = 8
FILLED = DQNSettings(buffer=4096, learning_starts=10**9)


def layer(x):
    return jax.numpy.tanh(x @ x)


def square(side, platform="cpu"):
    values = np.random.default_rng(0).standard_normal((side, side), np.float32)
    return jax.device_put(values, jax.devices(platform)[0])


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.rlperf(sizes=[64, 256, 1024])
def test_execution_by_the_side_of_a_matrix(rlperf, rlperf_size, platform):
    x = square(int(rlperf_size), platform)
    y = rlperf(jax.jit(layer), x)
    assert y.shape == x.shape


@pytest.mark.rlperf(memory=True)
def test_memory_of_a_matrix_product(rlperf):
    x = square(512)
    assert rlperf(jax.jit(layer), x).nbytes == x.nbytes


def filled_dqn():
    from rl_impls.backends.jax.agents import JaxDQN

    env = make_batch(CARTPOLE, N_ENVS, seed=0)
    agent = JaxDQN(shape_of(env), FILLED, seed=0)
    train(agent, env, 4096)
    return agent


def test_compiling_an_update_again(rlperf):
    """From Python to machine code, each time: nothing that was compiled is kept."""
    from rl_impls.backends.jax.network import forget_compiled, precompile

    agent = filled_dqn()
    inputs = agent._inputs(agent.replay.sample())

    def compile_again():
        forget_compiled()
        return precompile(agent._step, *inputs)

    assert rlperf(compile_again).seconds > 0


@pytest.mark.rlperf(kpi=["compilation", "training_throughput"], first_call=True, steps=10)
def test_updates_of_dqn(rlperf):
    """The first call compiles, whatever another test has compiled in the same process."""
    from rl_impls.backends.jax.network import forget_compiled

    agent = filled_dqn()
    forget_compiled()
    before = agent.parameters()[0].copy()

    def update():
        for _ in range(10):
            agent.update()

    rlperf(update)
    assert np.isfinite(agent.loss)
    assert (agent.parameters()[0] != before).any()


@pytest.mark.rlperf(kpi="training_throughput", steps=512)
def test_a_round_of_ppo(rlperf):
    from rl_impls.backends.jax.agents import JaxPPO

    def made():
        env = make_batch(CARTPOLE, N_ENVS, seed=0)
        return JaxPPO(shape_of(env), PPOSettings(horizon=512), seed=0), env

    def train_round(made):
        agent, env = made
        train(agent, env, 512)
        return agent

    agent = rlperf.measure(train_round, setup=made)
    assert np.isfinite(agent.losses).all()
