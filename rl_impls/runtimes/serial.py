"""Training of a table in this process."""

from __future__ import annotations

from typing import Any, Final

from rl_impls.envs.tabular import TabularEnv
from rl_impls.runtimes.machine import cap_threads, cores_for, peak_rss_bytes, pin_to
from rl_impls.runtimes.run import Facts, Tick
from rl_impls.tabular.learner import QLearner
from rl_impls.tabular.training import Training, check_count, check_fit

N_TICKS: Final = 50
# Learners that hold transitions back learn them when `train` ends. Cut at whole buffers, a training
# is the same with ticks and without.
WHOLE_BUFFERS: Final = 32
# Ctrl+C waits until compiled code comes back: this takes it a thirtieth of a second.
LONGEST_PART: Final = 31_250 * WHOLE_BUFFERS


class SerialRuntime:
    """Trains one learner on one environment. What has to be compiled is compiled here.

    Pinning and `threads`, a cap for BLAS and OpenMP, hold for the whole process from here on.
    """

    def __init__(
        self,
        learner: QLearner,
        env: TabularEnv,
        *,
        pin: bool = False,
        threads: int | None = None,
    ) -> None:
        check_fit(learner, env.n_states, env.n_actions)
        self._learner: Final = learner
        self._env: Final = env
        self.facts, self._threads = settle(pin=pin, threads=threads)
        learner.train(env, 0)

    def train(self, n_steps: int, tick: Tick | None = None) -> Training:
        check_count("steps", n_steps)
        part = LONGEST_PART
        if tick is not None:
            part = min(part, -(-n_steps // (N_TICKS * WHOLE_BUFFERS)) * WHOLE_BUFFERS)
        done = Training(0, 0, 0.0)
        while done.steps < n_steps:
            done = done + self._learner.train(self._env, min(part, n_steps - done.steps))
            if tick is not None:
                tick(done.steps)
        return done

    def learner(self) -> QLearner:
        return self._learner

    def peak_rss_bytes(self) -> int:
        return peak_rss_bytes()


def settle(*, pin: bool, threads: int | None) -> tuple[Facts, Any]:
    """Pin and cap this process; the cap holds for as long as the second result is kept."""
    facts = Facts("serial", 1, None, cores_for(1) if pin else (), threads)
    pin_to(*facts.cores)
    return facts, None if threads is None else cap_threads(threads)
