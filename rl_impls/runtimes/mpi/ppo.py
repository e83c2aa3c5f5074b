"""PPO in the ranks of an MPI job: each plays in a part of the environments, and all make the same
updates from the mean of their gradients.

A minibatch is made of equal parts, one of each rank, and its advantages are brought to one scale by
the moments of the whole. So an update is that of one process with as many rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents.agent import Shape, State, check_fits, shape_of, train
from rl_impls.agents.ppo import PPO, PPOSettings
from rl_impls.envs.control.step import ControlBatch
from rl_impls.errors import SettingError
from rl_impls.runtimes.deep import EpisodeTally, compile_for, in_pieces
from rl_impls.runtimes.mpi.messages import lost
from rl_impls.runtimes.mpi.runtime import (
    NOTHING_DONE,
    Surviving,
    Traffic,
    larger,
    most_advanced,
    shared,
)
from rl_impls.runtimes.mpi.world import until_done
from rl_impls.runtimes.run import Tick
from rl_impls.tabular.training import Training, check_count

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

# Gradients of all ranks become their mean, bit for bit the same on each.
#
# Every rank adds up one part of the array, in the order of ranks, and tells the others the mean:
# `MPI_Allreduce` may add up in another order at each rank. However many ranks there are, each sends
# twice the array. Parts end with the number of their exchange, for the reason told in `messages`.


Array = NDArray[Any]
# Numbers of exchanges begin anew there: a float32 holds all whole numbers below.
MOST: Final = 2**24


class Mean:
    """The mean of one array: start, hand on, finish. All ranks take these steps in the same order,
    with those of other arrays in between: MPI matches collectives by it."""

    def __init__(self, comm: Intracomm, like: Array) -> None:
        self._comm: Final = comm
        self._n_ranks: Final = comm.Get_size()
        self._number = 0
        part = -(-like.size // self._n_ranks)
        self._padded: Final = np.zeros((self._n_ranks, part), like.dtype)
        # A row for each rank, with the number at its end.
        self._own, self._parts, self._means = np.zeros((3, self._n_ranks, part + 1), like.dtype)
        self._mean: Final = np.zeros(part + 1, like.dtype)
        self.request: Request | None = None  # that is under way

    @property
    def n_bytes(self) -> int:
        """The bytes that all ranks send together: rows go there and back, but not to oneself."""
        return 2 * self._own.nbytes * (self._n_ranks - 1)

    def start(self, array: Array) -> None:
        self._number = (self._number + 1) % MOST
        self._padded.reshape(-1)[: array.size] = array
        self._own[:, :-1] = self._padded
        self._own[:, -1] = self._number
        self.request = self._comm.Ialltoall(self._own, self._parts)

    def poll(self) -> None:
        """Let MPI look after it."""
        if self.request is not None:
            self.request.Test()

    def hand_on(self) -> None:
        self._arrived(self._parts)
        np.mean(self._parts, axis=0, out=self._mean)
        self._mean[-1] = self._number
        self.request = self._comm.Iallgather(self._mean, self._means)

    def finish(self, array: Array) -> None:
        self._arrived(self._means)
        self.request = None
        self._padded[:] = self._means[:, :-1]
        array[:] = self._padded.reshape(-1)[: array.size]

    def _arrived(self, rows: Array) -> None:
        assert self.request is not None, "nothing was started"
        until_done(self.request)
        check_numbers(rows, self._number)


def check_numbers(rows: Array, number: int) -> None:
    """Refuse a rank's row that is not of this exchange."""
    for rank in np.flatnonzero(rows[:, -1] != number):
        raise lost(int(rank))


class RankPeers:
    """The other ranks, as an agent meets them. What is sent before the next `receive` comes in the
    same order every time."""

    def __init__(self, comm: Intracomm) -> None:
        self.join(comm)
        self.syncs = 0
        self.n_bytes = 0  # that all ranks sent
        self.seconds = 0.0  # of this rank, waiting for others included

    def join(self, comm: Intracomm) -> None:
        """Go on among these ranks; what was under way is forgotten."""
        self._comm = comm
        self.n_ranks = comm.Get_size()
        self._means: list[Mean] = []
        self._sent: list[Array] = []
        self._number = 0

    @property
    def requests(self) -> list[Request]:
        """The requests that are under way."""
        return [mean.request for mean in self._means if mean.request is not None]

    def join_moments(self, moments: Array) -> None:
        with self._counted():
            self._number += 1
            own = np.append(moments.reshape(-1), self._number)
            rows = np.zeros((self.n_ranks, len(own)))
            until_done(self._comm.Iallgather(own, rows))
            check_numbers(rows, self._number)
            moments[:] = joined([row[:-1].reshape(moments.shape) for row in rows])
            self.n_bytes += rows.nbytes * (self.n_ranks - 1)

    def send(self, grads: Array) -> None:
        with self._counted():
            for mean in self._means[: len(self._sent)]:
                mean.poll()
            if len(self._sent) == len(self._means):
                self._means.append(Mean(self._comm, grads))
            self._means[len(self._sent)].start(grads)
            self._sent.append(grads)

    def receive(self) -> None:
        with self._counted():
            for mean in self._means:
                mean.hand_on()
            for mean, grads in zip(self._means, self._sent, strict=True):
                mean.finish(grads)
                self.n_bytes += mean.n_bytes
            self._sent.clear()
            self.syncs += 1

    @contextmanager
    def _counted(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - began


def joined(moments: list[Array]) -> Array:
    """Return count, mean and sum of squared distances of all numbers together (Chan, Golub &
    LeVeque, 1979); rows of (n, 3) arrays belong together."""
    whole, *others = moments
    for other in others:
        n_a, mean_a, square_a = whole.T
        n_b, mean_b, square_b = other.T
        n, apart = n_a + n_b, mean_b - mean_a
        mean = mean_a + apart * n_b / n
        square = square_a + square_b + apart**2 * n_a * n_b / n
        whole = np.stack([n, mean, square], axis=1)
    return whole


class MpiPPORuntime(Surviving):
    """Trains a PPO whose environments ranks share. All ranks make one with equal settings, and call
    its methods together. They go on from the agent of rank 0, made for the environments of all;
    `env` is a rank's own part of them.

    Where MPI lets ranks go on without one that was killed, they do so with their own environments
    from the last update that any of them has made, and begin the round anew.
    """

    def __init__(
        self, agent: PPO, env: ControlBatch, comm: Intracomm, *, threads: int | None = None
    ) -> None:
        if agent.shape.act_size or agent.settings.normalise_obs or agent.settings.normalise_rewards:
            raise SettingError(
                "ranks share a PPO for numbered actions, on the scale that they have: train alone."
            )
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
        """The whole agent, with what all have learned so far."""
        if self._part is not self._whole:
            take_over(self._whole, learned(self._part), self._n_made())
        return self._whole

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        """Train; environments step as a whole, and the last step may lead beyond `n_steps`."""
        check_count("steps", n_steps)
        tally, before = EpisodeTally(), self._n_made()
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

    def _train_to(self, goal: int, before: int, tally: EpisodeTally, tick: Tick | None) -> None:
        until_done(self._comm.Ibarrier())  # what rank 0 did meanwhile is no part of the exchanges
        in_pieces(
            goal - before,
            lambda: self._n_made() - before,
            lambda n: train(self._part, self._env, -(-n // self._peers.n_ranks), tally=tally),
            tick,
        )

    def _under_way(self) -> list[Request]:
        return self._peers.requests

    def _go_on_among(self, comm: Intracomm) -> None:
        """Go on from the last update; some may not have made it."""
        own_n = self._n_made() - self._part.n_unlearned * self._peers.n_ranks
        root = most_advanced(comm, self._part.n_updates)
        state, n_learned = comm.bcast((learned(self._part), own_n), root)
        self._comm = comm
        self._peers.join(comm)
        take_over(self._part, state, self._part.n_steps)
        self._part.cut()
        self._begin_at(n_learned)

    def _begin_at(self, n_steps: int) -> None:
        """Begin to count where all together made so many steps, from here on with the ranks of
        now."""
        self._n_before = n_steps
        self._own_before = self._part.n_steps

    def _n_made(self) -> int:
        return self._n_before + (self._part.n_steps - self._own_before) * self._peers.n_ranks


def learned(agent: PPO) -> State:
    """Return what ranks have in common: weights, and what the optimisers know."""
    state = agent.state()
    return {name: state[name] for name in state if name.startswith(("actor", "critic"))}


def take_over(agent: PPO, state: State, n_steps: int) -> None:
    agent.set_state({**agent.state(), **state})
    agent.n_steps = n_steps


def part_of(whole: PPO, env: ControlBatch, peers: RankPeers) -> PPO:
    """Make an agent that begins with the same weights, and with the chance of the whole one."""
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
    """Return the settings of a rank's agent, for as many rounds."""
    n_rounds = -(-settings.linear_over // settings.horizon)
    horizon = shared(f"a horizon of {settings.horizon} steps", settings.horizon, n_ranks)
    minibatch = shared(f"a minibatch of {settings.minibatch} rows", settings.minibatch, n_ranks)
    return replace(settings, horizon=horizon, minibatch=minibatch, linear_over=n_rounds * horizon)
