"""A process that acts: it steps its environments by a copy of the policy and hands on its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents.agent import Shape, check_fits
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.envs.control.step import ControlBatch, Step
from rl_impls.replay.kernels import put
from rl_impls.replay.layout import rows_and_fields
from rl_impls.runtimes.actor_learner.ring import RowRing
from rl_impls.runtimes.actor_learner.weights import SharedWeights
from rl_impls.runtimes.machine import cap_threads, peak_rss_bytes, pin_to
from rl_impls.runtimes.processes import NamelessMemory, failures_told

# What an actor has done so far: counters that it writes and everybody reads.
#
# Each number is whole. Two of them may be a moment apart: an episode may be counted that is missing
# in the sum of returns, until the next look. Reading never keeps an actor waiting.

_EPISODES, _VERSION, _RETURNS, _PEAK_RSS_BYTES, _N_NUMBERS = range(5)


class ActorTally:
    """Counters of an actor. Pickling hands them to a process that is being started."""

    def __init__(self, memory: NamelessMemory | None = None) -> None:
        self._memory: Final = memory or NamelessMemory(8 * _N_NUMBERS)
        self._counts: Final = np.frombuffer(self._memory.buffer, np.int64)
        self._sums: Final = np.frombuffer(self._memory.buffer, np.float64)

    def __reduce__(self) -> tuple[Any, ...]:
        return ActorTally, (self._memory,)

    def add_episodes(self, n: int, returns: float) -> None:
        self._counts[_EPISODES] += n
        self._sums[_RETURNS] += returns

    def acts_with(self, version: int) -> None:
        self._counts[_VERSION] = version

    def used(self, peak_rss_bytes: int) -> None:
        self._counts[_PEAK_RSS_BYTES] = peak_rss_bytes

    @property
    def n_episodes(self) -> int:
        return int(self._counts[_EPISODES])

    @property
    def returns(self) -> float:
        """The sum of the returns of all episodes."""
        return float(self._sums[_RETURNS])

    @property
    def version(self) -> int:
        """The version of the weights it acts with."""
        return int(self._counts[_VERSION])

    @property
    def peak_rss_bytes(self) -> int:
        """The most memory it had, known when it is done."""
        return int(self._counts[_PEAK_RSS_BYTES])


READY: Final = "ready"
GO: Final = "go"
DONE: Final = "done"
# Steps between two looks whether it is over: a look costs as much as a step of a cheap environment.
LOOK_EVERY: Final = 32


class MakeBatch(Protocol):
    """Makes a batch of environments; it has to be picklable.

    `functools.partial(make_batch, "rl_impls/CartPole-v1", 8)` is one.
    """

    def __call__(self, *, seed: int | None) -> ControlBatch: ...


@dataclass(frozen=True, slots=True)
class ActorJob:
    number: int
    kind: type[DQN]
    shape: Shape
    settings: DQNSettings
    agent_seed: int
    env_seed: int
    make_env: MakeBatch
    n_steps: int  # whole steps of the batch
    first_step: int  # of all actors together, when this training begins
    n_actors: int
    stage_rows: int
    sync_interval: int
    ring: RowRing
    weights: SharedWeights
    tally: ActorTally
    cores: tuple[int, ...]
    threads: int


def main(job: ActorJob, connection: Connection) -> None:
    with failures_told(connection):
        actor = Actor(job, connection)
        connection.send(READY)
        if connection.recv() == GO:
            actor.run()
            job.tally.used(peak_rss_bytes())
            connection.send(DONE)
            connection.recv()  # until the learner needs the ring no more


class Actor:
    """Environments and a policy, compiled and ready."""

    def __init__(self, job: ActorJob, connection: Connection) -> None:
        pin_to(*job.cores)
        self._threads: Final = cap_threads(job.threads)
        self._job: Final = job
        self._connection: Final = connection
        # It keeps no transitions of its own.
        settings = replace(job.settings, buffer=1)
        self._agent: Final = job.kind(job.shape, settings, seed=job.agent_seed)
        self._env: Final = job.make_env(seed=job.env_seed)
        check_fits(self._agent, self._env)
        n_rows = max(job.stage_rows, job.shape.n_envs)
        self._rows: Final = rows_and_fields(n_rows, job.shape.obs_size, job.shape.act_size)[0]
        self._words: Final = self._rows.view(np.uint64)
        self._n_staged = 0
        self._returns: Final[NDArray[np.float64]] = np.zeros(job.shape.n_envs)
        self._compile()

    def _compile(self) -> None:
        """Compile everything by a step that does not count."""
        actions = self._act(0)
        self._stage(self._env.step(actions), actions)
        self._n_staged = 0
        self._hand_on()
        self._job.weights.copy_to(self._agent.parameters())
        self._env.reset(seed=self._job.env_seed)

    def _act(self, n_done: int) -> Any:
        # Exploration follows the steps of all actors, as it would with a single one.
        n_envs = self._job.shape.n_envs
        self._agent.n_steps = self._job.first_step + n_done * n_envs * self._job.n_actors
        return self._agent.act(self._env.obs)

    def run(self) -> None:
        version = 0
        for n_done in range(self._job.n_steps):
            if n_done % LOOK_EVERY == 0 and self._connection.poll():
                raise EOFError  # nobody says anything but that it is over
            if n_done % self._job.sync_interval == 0:
                version = self._job.weights.copy_to(self._agent.parameters(), have=version)
                self._job.tally.acts_with(version)
            actions = self._act(n_done)
            step = self._env.step(actions)
            self._stage(step, actions)
            self._count(step)
        self._hand_on()

    def _stage(self, step: Step, actions: Any) -> None:
        n = len(actions)
        if self._n_staged + n > len(self._rows):
            self._hand_on()
        columns = actions[:, None] if actions.ndim == 1 else actions
        put(
            self._rows, self._n_staged, 0,
            step.obs_tm1, columns, step.r_t, step.obs_t, step.terminated,
        )  # fmt: skip
        self._n_staged += n

    def _hand_on(self) -> None:
        self._job.ring.put(self._words[: self._n_staged], [self._connection])
        self._n_staged = 0

    def _count(self, step: Step) -> None:
        np.add(self._returns, step.r_t, out=self._returns)
        ended = step.terminated | step.truncated
        if ended.any():
            self._job.tally.add_episodes(int(ended.sum()), float(self._returns[ended].sum()))
            self._returns[ended] = 0.0
