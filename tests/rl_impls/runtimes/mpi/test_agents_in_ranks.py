"""Deep agents in real ranks: the updates of one process, and as good an agent."""

from typing import Any

import numpy as np
import pytest

from rl_impls.agents.agent import shape_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.evaluation import BestCheckpoint, evaluate
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.qr_dqn import QRDQN, QRDQNSettings
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import Step
from rl_impls.errors import SettingError
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import DeepRuntime, Validate

pytest.importorskip("mpi4py")
CARTPOLE = "rl_impls/CartPole-v1"
# What `tests/rl_impls/agents/test_learning.py` wants of one process after as many steps.
WANTED = 175.0
SMALL = PPOSettings(hidden=(16,), horizon=64, minibatch=64, n_epochs=3, learning_rate=1e-2)
DQN_SMALL = DQNSettings(hidden=(8,), batch=8, buffer=500, learning_starts=20)


# One test, since each starts a job.
@pytest.mark.rlperf_mpi(nprocs=2, timeout=60)
def test_agents_train_in_ranks(rlperf_mpi):
    check_that_one_rank_learns_what_a_process_does(rlperf_mpi)
    check_that_an_update_is_that_of_the_rows_of_all_ranks(rlperf_mpi)
    check_that_ranks_learn_one_good_policy(rlperf_mpi)
    check_that_a_central_agent_learns_as_well(rlperf_mpi)
    check_that_a_central_agent_goes_on_in_whole_steps(rlperf_mpi)


def check_that_one_rank_learns_what_a_process_does(rlperf_mpi):
    from rl_impls.runtimes.mpi.central import MpiCentralRuntime
    from rl_impls.runtimes.mpi.ppo import MpiPPORuntime
    from rl_impls.runtimes.mpi.world import library

    kinds: Any = [(PPO, SMALL, MpiPPORuntime), (DQN, DQN_SMALL, MpiCentralRuntime)]
    for kind, settings, runtime_kind in kinds:
        agents = []
        for runtime in (runtime_kind, lambda agent, env, _: DeepRuntime(agent, env)):
            env = make_batch(CARTPOLE, 4, seed=0)
            agents.append(kind(shape_of(env), settings, seed=0))
            run(runtime(agents[-1], env, library().COMM_SELF), 200)
        lone, serial = (agent.state() for agent in agents)
        rlperf_mpi.rank_assert(all((lone[name] == serial[name]).all() for name in serial))


def check_that_an_update_is_that_of_the_rows_of_all_ranks(rlperf_mpi):
    from rl_impls.runtimes.mpi.ppo import RankPeers, part_of_settings

    comm = rlperf_mpi.comm
    env = make_batch(CARTPOLE, 2, seed=comm.rank)
    peers = RankPeers(comm)
    part = PPO(shape_of(env), part_of_settings(SMALL, 2), seed=0, peers=peers)
    whole = PPO(shape_of(env)._replace(n_envs=4), SMALL, seed=0)
    for t in range(16):
        obs = np.concatenate(comm.allgather(env.obs))
        actions = part.act(env.obs)
        whole.act(obs)[:] = np.concatenate(comm.allgather(actions))
        log_probs = comm.allgather(part._rollout.log_probs[t])
        whole._rollout.log_probs[t] = np.concatenate(log_probs)
        step = env.step(actions)
        whole.observe(Step(*(np.concatenate(comm.allgather(array)) for array in step)))
        part.observe(step)
    rlperf_mpi.rank_assert(peers.syncs == SMALL.n_epochs)
    for own, wanted in zip(part.parameters(), whole.parameters(), strict=True):
        rlperf_mpi.rank_assert(len(set(comm.allgather(own.tobytes()))) == 1)
        far = np.abs(own - wanted).max()
        rlperf_mpi.rank_assert(far < 1e-5, f"{far} from what one process learns")


class Watched(PPO):
    """Compares its weights with those of the other ranks after every update."""

    comm: Any = None
    apart = 0

    def _update(self, rows, moments):
        super()._update(rows, moments)
        weights = b"".join(array.tobytes() for array in self.parameters())
        Watched.apart += len(set(self.comm.allgather(weights))) - 1


def check_that_ranks_learn_one_good_policy(rlperf_mpi):
    from rl_impls.runtimes.mpi import ppo
    from rl_impls.runtimes.mpi.runtime import AtRankZero

    comm = rlperf_mpi.comm
    env = make_batch(CARTPOLE, 4, seed=comm.rank)
    settings = PPOSettings(learning_rate=3e-3, minibatch=1024)
    agent = PPO(shape_of(env)._replace(n_envs=8), settings, seed=comm.rank)
    runtime = ppo.MpiPPORuntime(agent, env, comm, threads=1)
    best = BestCheckpoint(lambda agent: evaluate(agent, CARTPOLE, 20, seed=1).mean())
    ticks: list[int] = []
    validate: Any = Validate(Every(3_000), best)
    hooks = [AtRankZero(validate)]
    done = run(runtime, 30_001, hooks=hooks, tick=ticks.append).done
    rlperf_mpi.rank_assert(done.steps == runtime.agent.n_steps == ticks[-1] == 30_008)
    rlperf_mpi.rank_assert(done.reward_sum == 30_008.0)
    weights = [array.tobytes() for array in runtime.agent.parameters()]
    rlperf_mpi.rank_assert(len(set(map(tuple, comm.allgather(weights)))) == 1)
    rlperf_mpi.rank_assert(best.n_validations == (10 if comm.rank == 0 else 0))
    check_that_the_best_is_good(rlperf_mpi, agent, best)
    traffic = runtime.traffic()
    rlperf_mpi.rank_assert(traffic.syncs == 14 * 10 * 2)  # rounds, epochs, minibatches
    own_bytes = sum(array.nbytes for array in agent.parameters())
    told = traffic.bytes_sent / traffic.syncs / 2
    rlperf_mpi.rank_assert(own_bytes <= told < 1.01 * own_bytes)
    rlperf_mpi.rank_assert(traffic.sync_seconds > 0)
    check_that_weights_never_drift_apart(rlperf_mpi)
    for n_envs, says in ((6, "others: make one for"), (8, "3 rows cannot be shared by 2 ranks")):
        shape = shape_of(env)._replace(n_envs=n_envs)
        odd = PPO(shape, PPOSettings(minibatch=3, horizon=2400))
        with pytest.raises(SettingError, match=says):
            ppo.MpiPPORuntime(odd, env, comm)


def check_that_the_best_is_good(rlperf_mpi, agent, best):
    """Rank 0 has it."""
    best.restore_best(agent)
    returns = evaluate(agent, CARTPOLE, 50, seed=2).mean()
    got = rlperf_mpi.comm.bcast(returns)
    rlperf_mpi.rank_assert(got >= WANTED, f"{agent.name}: {got:.0f}")


def check_that_weights_never_drift_apart(rlperf_mpi):
    from rl_impls.runtimes.mpi.ppo import RankPeers

    comm = Watched.comm = rlperf_mpi.comm
    env = make_batch(CARTPOLE, 2, seed=comm.rank)
    settings = PPOSettings(horizon=60, minibatch=16, n_epochs=2, learning_rate=0.1)
    agent = Watched(shape_of(env), settings, seed=0, peers=RankPeers(comm))
    agent._chance[:] += np.uint64(comm.rank)
    run(DeepRuntime(agent, env, threads=1), 240)
    rlperf_mpi.rank_assert(agent._optimisers[0].n_steps == 4 * 2 * 4)
    rlperf_mpi.rank_assert(Watched.apart == 0)


def check_that_a_central_agent_learns_as_well(rlperf_mpi):
    from rl_impls.runtimes.mpi.central import MpiCentralRuntime
    from rl_impls.runtimes.mpi.runtime import AtRankZero

    comm = rlperf_mpi.comm
    env = make_batch(CARTPOLE, 16, seed=comm.rank)
    settings = DQNSettings(
        learning_rate=3e-4, target_every=1000, epsilon_over=5000, huber=100.0, buffer=50_000
    )
    agent = DQN(shape_of(env), settings, seed=0)
    runtime = MpiCentralRuntime(agent, env, comm, threads=1)
    best = BestCheckpoint(lambda agent: evaluate(agent, CARTPOLE, 20, seed=1).mean())
    validate: Any = Validate(Every(2_000), best)
    hooks = [AtRankZero(validate)]
    done = run(runtime, 20_000, hooks=hooks).done
    rlperf_mpi.rank_assert(done.steps == 20_000)
    rlperf_mpi.rank_assert(done.reward_sum == 20_000.0)
    rlperf_mpi.rank_assert(len(set(comm.allgather(done))) == 1)
    traffic = runtime.traffic()
    rlperf_mpi.rank_assert(traffic.syncs == 1_250)
    # Where to act next, where it led, reward, two flags; an action; a mark in each message.
    rlperf_mpi.rank_assert(abs(traffic.bytes_sent - 20_000 * (11 * 4 + 8) - 1_250 * 12) < 2_000)
    n_seen = agent.n_steps, agent.replay.n_added
    rlperf_mpi.rank_assert(n_seen == ((20_000, 20_000) if comm.rank == 0 else (0, 0)))
    check_that_the_best_is_good(rlperf_mpi, agent, best)


def check_that_a_central_agent_goes_on_in_whole_steps(rlperf_mpi):
    """What reaches the replay is what a process would see that chooses the same actions."""
    from rl_impls.runtimes.mpi.central import MpiCentralRuntime

    comm = rlperf_mpi.comm
    env = make_batch(CARTPOLE, 3, seed=5)
    settings = QRDQNSettings(
        hidden=(8,), buffer=600, batch=8, learning_starts=1_000, n_quantiles=4, epsilon_start=0.05
    )
    agent = QRDQN(shape_of(env), settings, seed=0)
    runtime = MpiCentralRuntime(agent, env, comm, threads=1)
    legs = [run(runtime, n_steps).done for n_steps in (1, 200, 2)]
    rlperf_mpi.rank_assert([leg.steps for leg in legs] == [3, 201, 3])
    seen = comm.bcast(agent.replay.state())
    twin = QRDQN(shape_of(env), settings, seed=0)
    run(DeepRuntime(twin, make_batch(CARTPOLE, 3, seed=5)), 207)
    for name, array in twin.replay.state().items():
        rlperf_mpi.rank_assert((seen[name] == array).all(), name)
