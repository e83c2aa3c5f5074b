"""Deep agents in the ranks of an MPI job: averaged gradients, and environments of other ranks.

Agents live from before the first call to after the last, so that a call is training alone.
"""

import pytest

from pytest_rlperf.fixtures import RlperfMpi
from rl_impls.agents.agent import shape_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.envs.control.make import make_batch

CARTPOLE = "rl_impls/CartPole-v1"
GYMNASIUM = "CartPole-v1"
HORIZON = 512
N_ENVS = 8

pytestmark = pytest.mark.rlperf_mpi(nprocs=2, timeout=60, category="mpi")


def test_a_round_of_mpi_ppo(rlperf_mpi: RlperfMpi):
    from rl_impls.runtimes.mpi.ppo import MpiPPORuntime

    env = make_batch(CARTPOLE, N_ENVS // rlperf_mpi.size, seed=rlperf_mpi.rank)
    shape = shape_of(env)._replace(n_envs=N_ENVS)
    agent = PPO(shape, PPOSettings(horizon=HORIZON), seed=0)
    runtime = MpiPPORuntime(agent, env, rlperf_mpi.comm, threads=1)
    training = rlperf_mpi.measure(lambda: runtime.train(HORIZON), steps=HORIZON)
    rlperf_mpi.rank_assert(training.steps == HORIZON)


def test_steps_of_mpi_central(rlperf_mpi: RlperfMpi):
    """Of environments that are not compiled, with an update every fourth step."""
    from rl_impls.runtimes.mpi.central import MpiCentralRuntime

    env = make_batch(GYMNASIUM, N_ENVS, seed=rlperf_mpi.rank)
    agent = DQN(shape_of(env), DQNSettings(buffer=4096, learning_starts=256), seed=0)
    runtime = MpiCentralRuntime(agent, env, rlperf_mpi.comm, threads=1)
    runtime.train(256)
    training = rlperf_mpi.measure(lambda: runtime.train(400), steps=400)
    rlperf_mpi.rank_assert(training.steps == 400)
