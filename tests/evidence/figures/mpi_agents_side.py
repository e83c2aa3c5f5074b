"""A job of `tests.evidence.figures.mpi_agents`: one training, in one process or in ranks.

Rank 0 prints what came of it as JSON.
"""

import json
import sys
import time
from typing import Any

from rl_impls.agents.agent import shape_of
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.evaluation import BestCheckpoint, evaluate
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.commands.train_mpi import rank_seed
from rl_impls.envs.control.make import make_batch
from rl_impls.runtimes import Every, run
from rl_impls.runtimes.deep import DeepRuntime, Validate
from rl_impls.runtimes.mpi.central import MpiCentralRuntime
from rl_impls.runtimes.mpi.ppo import MpiPPORuntime
from rl_impls.runtimes.mpi.runtime import AtRankZero
from rl_impls.runtimes.mpi.world import world

CARTPOLE = "rl_impls/CartPole-v1"
N_ENVS = 8
N_VALIDATIONS = 20
PPO_SETTINGS = PPOSettings(learning_rate=1e-3)
# Those of tests/rl_impls/agents/test_learning.py.
DQN_SETTINGS = DQNSettings(
    learning_rate=3e-4, target_every=1000, epsilon_over=5000, huber=100.0, buffer=100_000
)


class Costly:
    """Environments that take so long for a step each, as a simulator would."""

    def __init__(self, env: Any, step_s: float) -> None:
        self._env, self._step_s = env, step_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def step(self, actions: Any) -> Any:
        until = time.perf_counter() + self._step_s * self._env.n_envs
        while time.perf_counter() < until:
            pass
        return self._env.step(actions)


def made(how: str, seed: int, step_s: float, comm: Any) -> Any:
    """The runtime, which has the agent."""
    own_seed = rank_seed(seed, comm.Get_rank(), 0)
    n_own = N_ENVS // comm.Get_size() if how == "mpi-ppo" else N_ENVS
    env: Any = make_batch(CARTPOLE, n_own, seed=own_seed)
    shape = shape_of(env)._replace(n_envs=N_ENVS)
    if step_s > 0:
        env = Costly(env, step_s)
    if how in ("ppo", "mpi-ppo"):
        agent = PPO(shape, PPO_SETTINGS, seed=own_seed)
        if how == "mpi-ppo":
            return MpiPPORuntime(agent, env, comm, threads=1)
        return DeepRuntime(agent, env, threads=1)
    dqn = DQN(shape, DQN_SETTINGS, seed=own_seed)
    if how == "mpi-central":
        return MpiCentralRuntime(dqn, env, comm, threads=1)
    return DeepRuntime(dqn, env, threads=1)


def main(how: str, n_steps: str, seed: str, step_us: str) -> None:
    comm = world()
    runtime = made(how, int(seed), float(step_us) * 1e-6, comm)
    best = BestCheckpoint(lambda agent: evaluate(agent, CARTPOLE, 20, seed=1).mean())
    validate: Any = Validate(Every(-(-int(n_steps) // N_VALIDATIONS)), best)
    is_mpi = how.startswith("mpi-")
    hooks = [AtRankZero(validate) if is_mpi else validate]
    progress = run(runtime, int(n_steps), hooks=hooks)
    told = {"steps_per_s": progress.steps_per_s, "seconds": progress.seconds}
    if is_mpi:
        traffic = runtime.traffic()
        told["sync_part"] = traffic.sync_seconds / progress.seconds
        told["bytes_a_step"] = traffic.bytes_sent / progress.done.steps
    if comm.Get_rank() == 0:
        best.restore_best(runtime.agent)
        told["mean_return"] = evaluate(runtime.agent, CARTPOLE, 100, seed=2).mean()
        print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
