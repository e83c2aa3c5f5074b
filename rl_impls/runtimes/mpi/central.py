"""Environments that are expensive to step, in ranks of their own; rank 0 has the agent.

It chooses the actions of all ranks whose observations are there in one batch, and learns while they
step. No rank waits for another one's step, and no weights travel.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents.agent import Array, check_fits, train
from rl_impls.agents.dqn import DQN
from rl_impls.envs.control.step import ControlBatch, Floats, Observations, Step
from rl_impls.errors import SettingError
from rl_impls.runtimes.deep import EpisodeTally, compile_for, in_pieces
from rl_impls.runtimes.mpi.messages import lost
from rl_impls.runtimes.mpi.runtime import NOTHING_DONE, Surviving, Traffic, larger
from rl_impls.runtimes.mpi.world import library, until, until_done
from rl_impls.runtimes.run import Tick
from rl_impls.tabular.training import Training, check_count

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

# A step of a rank's environments as a message: a row of float32 for each, and a mark at the end.
#
# The mark is reset before a message is received: MPICH may end a receive from a rank that was
# killed without an error, and without what it had to say.


NOTHING, WHOLE = 0.0, 1.0


class Layout:
    """The places of a row: where to act next, where the action led, reward, terminated,
    truncated."""

    def __init__(self, n_envs: int, obs_size: int) -> None:
        self._n_envs: Final = n_envs
        self._obs_size: Final = obs_size
        self._width: Final = 2 * obs_size + 3
        self.n_numbers: Final = n_envs * self._width + 1

    def write(self, step: Step, message: Floats) -> None:
        size, rows = self._obs_size, message[:-1].reshape(self._n_envs, self._width)
        rows[:, :size] = step.next_obs
        rows[:, size : 2 * size] = step.obs_t
        rows[:, -3], rows[:, -2], rows[:, -1] = step.r_t, step.terminated, step.truncated
        message[-1] = WHOLE

    def read(self, messages: NDArray[np.float32], obs_tm1: Floats) -> Step:
        """Return the steps of several ranks as one, with where each was taken."""
        size, rows = self._obs_size, messages[:, :-1].reshape(-1, self._width)
        return Step(
            obs_t=rows[:, size : 2 * size].copy(),
            r_t=rows[:, -3].copy(),
            terminated=rows[:, -2] != 0.0,
            truncated=rows[:, -1] != 0.0,
            next_obs=rows[:, :size].copy(),
            obs_tm1=obs_tm1,
        )


# What the last number of a message with actions says.
UNSAID, STEP, OVER = range(3)


class MpiCentralRuntime(Surviving):
    """Trains the agent of rank 0 on the environments of the others. All ranks make one with equal
    settings, and call its methods together. The agent is made for the environments of one rank, and
    that of rank 0 learns. Those of rank 0 are stepped only where it is alone, bit for bit as in a
    process that knows no MPI.

    Where MPI lets ranks go on without one that was killed, they do: what is lost is a step of each.
    The agent is not to be lost: without rank 0 the job ends.
    """

    def __init__(
        self, agent: DQN, env: ControlBatch, comm: Intracomm, *, threads: int | None = None
    ) -> None:
        check_fits(agent, env)
        if agent.settings.n_step > 1:
            raise SettingError("ranks hand on single steps: leave n_step out, or train alone.")
        super().__init__("mpi-central", comm, threads)
        compile_for(agent, env)
        self.agent: Final = agent
        self._env: Final = env
        layout = Layout(env.n_envs, env.obs_size)
        self._leader: Final = LeadingRank(agent, layout) if comm.Get_rank() == 0 else None
        self._worker: Final = SteppingRank(env, layout)
        self._go_on_among(comm)

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        """Train; environments step as a whole, and the last steps may lead beyond `n_steps`."""
        check_count("steps", n_steps)
        tally, before = EpisodeTally(), self.agent.n_steps
        told = [NOTHING_DONE]

        def attempt() -> None:
            self._train_to(before + n_steps, before, tally, tick)
            own = Training(self.agent.n_steps - before, tally.episodes, tally.reward_sum)
            told[:] = [self._comm.bcast(own)]

        self._together(attempt)
        return told[0]

    def traffic(self) -> Traffic:
        leader = self._leader
        counts = (0, 0) if leader is None else (leader.n_turns, leader.n_bytes)
        seconds = self._worker.waiting_s if leader is None else leader.waiting_s
        most = self._comm.allreduce(seconds, op=larger)
        n_turns, n_bytes = self._comm.bcast(counts)
        return Traffic(n_turns, n_bytes, most, self.agent.shape.n_envs)

    def _train_to(self, goal: int, before: int, tally: EpisodeTally, tick: Tick | None) -> None:
        until_done(self._comm.Ibarrier())  # what rank 0 did meanwhile is no part of the exchanges
        if self._leader is None:
            self._worker.serve()
        elif self._comm.Get_size() > 1:
            self._leader.train(goal, before, tally, tick)
        else:
            in_pieces(
                goal - before,
                lambda: self.agent.n_steps - before,
                lambda n: train(self.agent, self._env, n, tally=tally),
                tick,
            )

    def _under_way(self) -> list[Request]:
        return [] if self._leader is None else self._leader.requests

    def _go_on_among(self, comm: Intracomm) -> None:
        self._comm = comm
        if not comm.bcast(self._leader is not None):
            raise lost(0)
        first = comm.gather(self._env.obs)
        self._worker.join(comm)
        if self._leader is not None and first is not None:
            self._leader.join(comm, first[1:])


class LeadingRank:
    """Rank 0: chooses and learns. SteppingRank number i is rank i + 1."""

    def __init__(self, agent: DQN, layout: Layout) -> None:
        self.n_turns = 0
        self.n_bytes = 0  # that all ranks sent
        self.waiting_s = 0.0
        self._agent: Final = agent
        self._layout: Final = layout
        self._n_envs: Final = agent.shape.n_envs
        self._obs_size: Final = agent.shape.obs_size

    def join(self, comm: Intracomm, first: Sequence[Observations]) -> None:
        """Lead these ranks, which stand at these observations."""
        self._comm = comm
        self._n_workers = n = len(first)
        self._obs = np.array(first, np.float32).reshape(n, self._n_envs, self._obs_size)
        self._orders = np.zeros((n, self._n_envs + 1), np.int64)
        self._messages = np.zeros((n, self._layout.n_numbers), np.float32)
        self._awaited: list[Request] = [library().REQUEST_NULL] * n

    @property
    def requests(self) -> list[Request]:
        """The requests of those that step."""
        return [request for request in self._awaited if request]

    def train(self, goal: int, before: int, tally: EpisodeTally, tick: Tick | None) -> None:
        """Lead until the agent has seen `goal` steps; the tick counts from `before` on."""
        left = goal - self._agent.n_steps
        left -= self._ask(range(self._n_workers), left)
        while ready := self._wait():
            step = self._layout.read(self._messages[ready], self._rows(self._obs, ready))
            actions = self._rows(self._orders[:, :-1], ready)
            self._agent.replay.add_step(step, actions)
            self._obs[ready] = step.next_obs.reshape(-1, self._n_envs, self._obs_size)
            left -= self._ask(ready, left)
            self._agent.advance(len(actions))  # while they step
            tally.count(step)
            if tick is not None:
                tick(self._agent.n_steps - before)
        for worker in range(self._n_workers):
            self._tell(worker, OVER)

    def _ask(self, workers: Sequence[int], n_steps: int) -> int:
        """Let as many of them step as are needed for so many steps. Returns how many they make."""
        asked = list(workers)[: -(-max(n_steps, 0) // self._n_envs)]
        if not asked:
            return 0
        obs, actions = self._rows(self._obs, asked), np.zeros(len(asked) * self._n_envs, np.int64)
        room = self._agent.net.max_batch
        for start in range(0, len(actions), room):
            self._agent.choose(obs[start : start + room], actions[start : start + room])
        self._orders[asked, :-1] = actions.reshape(len(asked), -1)
        for worker in asked:
            message = self._messages[worker]
            message[-1] = NOTHING
            self._awaited[worker] = self._comm.Irecv(message, worker + 1)
            self._tell(worker, STEP)
            self.n_bytes += message.nbytes
        self.n_turns += 1
        return len(actions)

    def _tell(self, worker: int, what: int) -> None:
        order = self._orders[worker]
        order[-1] = what
        self._comm.Send(order, worker + 1)
        self.n_bytes += order.nbytes

    def _wait(self) -> list[int]:
        """Return the workers whose steps are there, at least one; none when nobody steps."""
        open_ones = [worker for worker, request in enumerate(self._awaited) if request]
        if not open_ones:
            return []
        began = time.perf_counter()
        ready: list[int] = []

        def some_are_there() -> bool:
            # Not Testsome: it says that one of them failed, and not of what.
            ready.extend(worker for worker in open_ones if self._awaited[worker].Test())
            return bool(ready)

        until(some_are_there)
        self.waiting_s += time.perf_counter() - began
        for worker in ready:
            if self._messages[worker, -1] != WHOLE:
                raise lost(worker + 1)
        return ready

    def _rows(self, arrays: Array, workers: Sequence[int]) -> Array:
        """Return the rows of these workers, end to end."""
        chosen: Array = arrays[workers]
        return chosen.reshape(len(workers) * self._n_envs, *chosen.shape[2:])


class SteppingRank:
    """Any other rank: steps as it is told."""

    def __init__(self, env: ControlBatch, layout: Layout) -> None:
        self.waiting_s = 0.0
        self._env: Final = env
        self._layout: Final = layout
        self._order: Final = np.zeros(env.n_envs + 1, np.int64)
        self._message: Final = np.zeros(layout.n_numbers, np.float32)

    def join(self, comm: Intracomm) -> None:
        self._comm = comm

    def serve(self) -> None:
        """Step as told until the training is over."""
        while self._next() == STEP:
            step: Step = self._env.step(self._order[:-1])
            self._layout.write(step, self._message)
            self._comm.Send(self._message, 0)

    def _next(self) -> int:
        began = time.perf_counter()
        self._order[-1] = UNSAID
        until_done(self._comm.Irecv(self._order, 0))
        self.waiting_s += time.perf_counter() - began
        if self._order[-1] == UNSAID:
            raise lost(0)
        return int(self._order[-1])
