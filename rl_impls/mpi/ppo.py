"""PPO in the ranks of an MPI job: each plays in a part of the environments, and all make the same
updates from the mean of their gradients.

A minibatch is made of equal parts, one of each rank, and its advantages are brought to one scale by
the moments of the whole. So an update is that of one process with as many rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rl_impls.agents.agent import Shape, State, shape_of
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.agents.training import check_fits, train
from rl_impls.envs.control.step import ControlBatch
from rl_impls.errors import SettingError
from rl_impls.mpi.alike import NOTHING_DONE, larger, most_advanced, shared
from rl_impls.mpi.gradients import RankPeers
from rl_impls.mpi.in_ranks import Surviving, Traffic
from rl_impls.mpi.waiting import until_done
from rl_impls.runtimes.deep import Tally, compile_for, in_pieces
from rl_impls.runtimes.runtime import Tick
from rl_impls.tabular.training import Training, check_count

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request


class MpiPPORuntime(Surviving):
    """All ranks make one with equal settings, and call its methods together. They go on from the
    agent of rank 0, made for the environments of all; `env` is a rank's own part of them.

    Where MPI lets ranks go on without one that was killed, they do so with their own environments
    from the last update that any of them has made, and begin the round anew.
    """

    def __init__(
        self, agent: PPO, env: ControlBatch, comm: Intracomm, *, threads: int | None = None
    ) -> None:
        if agent.backend != "numpy":
            raise SettingError(
                f"ranks average gradients of NumPy, and not of {agent.backend}: make a plain PPO."
            )
        super().__init__("mpi-ppo", comm, threads)
        self._whole: Final = agent
        self._env: Final = env
        self._peers: Final = RankPeers(comm)
        take_over(agent, *comm.bcast((learned(agent), agent.n_steps)))
        # One rank has all of it, and learns bit for bit what a process does that knows no MPI.
        self._part: Final = agent if comm.Get_size() == 1 else part_of(agent, env, self._peers)
        check_fits(self._part, env)
        compile_for(self._part, env)
        self._begin_at(agent.n_steps)

    @property
    def agent(self) -> PPO:
        """The whole one, with what all have learned so far."""
        if self._part is not self._whole:
            take_over(self._whole, learned(self._part), self._n_made())
        return self._whole

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        """Environments step as a whole: the last step may lead beyond `n_steps`."""
        check_count("steps", n_steps)
        tally, before = Tally(), self._n_made()
        told = [NOTHING_DONE]

        def attempt() -> None:
            self._train_to(before + n_steps, before, tally, tick)
            own = Training(0, tally.episodes, tally.reward_sum)
            told[:] = [self._comm.allreduce(own)]

        self._together(attempt)
        return replace(told[0], steps=self._n_made() - before)

    def traffic(self) -> Traffic:
        peers = self._peers
        most = self._comm.allreduce(peers.seconds, op=larger)
        return Traffic(peers.syncs, peers.n_bytes, most, self._part.settings.horizon)

    def _train_to(self, goal: int, before: int, tally: Tally, tick: Tick | None) -> None:
        until_done(self._comm.Ibarrier())  # what rank 0 did meanwhile is no part of the exchanges
        in_pieces(
            goal - before,
            lambda: self._n_made() - before,
            lambda n: train(self._part, self._env, -(-n // self._peers.n_ranks), hooks=[tally]),
            tick,
        )

    def _under_way(self) -> list[Request]:
        return self._peers.requests

    def _go_on_among(self, comm: Intracomm) -> None:
        """From the last update; some may not have made it."""
        own_n = self._n_made() - self._part.n_unlearned * self._peers.n_ranks
        root = most_advanced(comm, self._part.n_updates)
        state, n_learned = comm.bcast((learned(self._part), own_n), root)
        self._comm = comm
        self._peers.join(comm)
        take_over(self._part, state, self._part.n_steps)
        self._part.cut()
        self._begin_at(n_learned)

    def _begin_at(self, n_steps: int) -> None:
        """So many steps were made by all, from here on by as many ranks as there are now."""
        self._n_before = n_steps
        self._own_before = self._part.n_steps

    def _n_made(self) -> int:
        return self._n_before + (self._part.n_steps - self._own_before) * self._peers.n_ranks


def learned(agent: PPO) -> State:
    """What ranks have in common: weights, and what the optimisers know."""
    state = agent.state()
    return {name: state[name] for name in state if name.startswith(("actor", "critic"))}


def take_over(agent: PPO, state: State, n_steps: int) -> None:
    agent.set_state({**agent.state(), **state})
    agent.n_steps = n_steps


def part_of(whole: PPO, env: ControlBatch, peers: RankPeers) -> PPO:
    """An agent that begins with the same weights, and with the chance of the whole one."""
    check_is_part(shape_of(env), whole.shape, peers.n_ranks)
    part = PPO(shape_of(env), part_of_settings(whole.settings, peers.n_ranks), peers=peers)
    take_over(part, {**learned(whole), "chance": whole.state()["chance"]}, 0)
    return part


def check_is_part(part: Shape, whole: Shape, n_ranks: int) -> None:
    if part._replace(n_envs=part.n_envs * n_ranks) != whole:
        raise SettingError(
            f"the agent was made for {whole}, and {n_ranks} ranks with {part} are others: "
            "make one for the environments of all ranks together."
        )


def part_of_settings(settings: PPOSettings, n_ranks: int) -> PPOSettings:
    """Those of a rank's agent, for as many rounds."""
    n_rounds = -(-settings.linear_over // settings.horizon)
    horizon = shared(f"a horizon of {settings.horizon} steps", settings.horizon, n_ranks)
    minibatch = shared(f"a minibatch of {settings.minibatch} rows", settings.minibatch, n_ranks)
    return replace(settings, horizon=horizon, minibatch=minibatch, linear_over=n_rounds * horizon)
