"""Deep Q-learning (Mnih et al., 2015), double (van Hasselt et al., 2016) unless told otherwise.

Its losses with their gradients are compiled and stand first. Rows are drawn uniformly, or by their
last error (Schaul et al., 2016).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from rl_impls.agents.agent import (
    AgentSettings,
    Array,
    DeepAgent,
    Environments,
    State,
    in_parts,
    require_numbered,
    seeds_of,
    take_over,
    under,
    with_prefix,
)
from rl_impls.agents.choices import epsilon_greedy
from rl_impls.agents.n_step import Windows
from rl_impls.envs.control.step import Observations, Step
from rl_impls.errors import SettingError, at_least, fraction, positive
from rl_impls.jit import compiled
from rl_impls.nets.dueling import DuelingMLP
from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam, Optimiser, clip_by_norm
from rl_impls.replay.layout import PrioritisedTransitions, Transitions
from rl_impls.replay.prioritised import PrioritisedReplay
from rl_impls.replay.uniform import UniformReplay
from rl_impls.schedules import Linear


@compiled
def argmax_rows(q: Any, best: Any) -> None:
    """best_i <- argmax_j q_ij, the first of equal ones."""
    for i in range(len(q)):
        at = 0
        for j in range(1, q.shape[1]):
            if q[i, j] > q[i, at]:
                at = j
        best[i] = at


@compiled
def q_loss(
    q_tm1: Any, a_tm1: Any, r_t: Any, q_t: Any, best_t: Any, terminated_t: Any,
    discount: float, huber: float, grad: Any,
) -> float:  # fmt: skip
    """The Huber loss of Q-learning (Mnih et al., 2015):

    L = 1/n sum_i h(q_tm1[i, a_i] - r_i - discount (1 - terminated_i) q_t[i, best_i])
    h(d) = d**2 / 2 where |d| <= huber, else huber (|d| - huber / 2)

    `q_t` is the target network's. With `best_t` the argmax of the learning network at obs_t it is
    double DQN (van Hasselt et al., 2016), which does not overrate what chance overrated.
    grad <- dL/dq_tm1.
    """
    n, n_actions = q_tm1.shape
    loss = 0.0
    for i in range(n):
        follows = 0.0 if terminated_t[i] else discount * q_t[i, best_t[i]]
        error = q_tm1[i, a_tm1[i]] - (r_t[i] + follows)
        bounded = min(max(error, -huber), huber)
        loss += bounded * (error - 0.5 * bounded)
        for j in range(n_actions):
            grad[i, j] = 0.0
        grad[i, a_tm1[i]] = bounded / n
    return float(loss / n)


@compiled
def weighted_q_loss(
    q_tm1: Any, a_tm1: Any, r_t: Any, q_t: Any, best_t: Any, terminated_t: Any,
    discount: float, huber: float, weights: Any, td_errors: Any, grad: Any,
) -> float:  # fmt: skip
    """Compute `q_loss` with a weight for each row, and td_errors <- the error of each before its
    bound: L = 1/n sum_i w_i h(error_i), grad <- dL/dq_tm1."""
    n, n_actions = q_tm1.shape
    loss = 0.0
    for i in range(n):
        follows = 0.0 if terminated_t[i] else discount * q_t[i, best_t[i]]
        error = q_tm1[i, a_tm1[i]] - (r_t[i] + follows)
        bounded = min(max(error, -huber), huber)
        td_errors[i] = error
        loss += weights[i] * bounded * (error - 0.5 * bounded)
        for j in range(n_actions):
            grad[i, j] = 0.0
        grad[i, a_tm1[i]] = weights[i] * bounded / n
    return float(loss / n)


ACTING: Final = 0  # stream of chance
# With batches of 128 on CartPole 31 and 62 learned as well as smaller ones, and with 16 values grew
# without bound; 125, where a target was twice as many steps old, learned half as far.
UPDATES_A_TARGET: Final = 32


@dataclass(frozen=True, slots=True)
class DQNSettings(AgentSettings):
    """`update_every`, `target_every` and the rest count steps of all environments together.

    `n_updates` are made whenever it is time for one: half an update a step may come as one every
    other step, or as 128 every 256.
    """

    buffer: int = 1_000_000
    batch: int = 256
    learning_starts: int = 1000
    update_every: int = 4
    n_updates: int = 1
    target_every: int = 10_000
    epsilon_start: float = 1.0
    epsilon_end: float = 0.05
    epsilon_over: int = 10_000
    max_norm: float = 10.0
    # The error from which on the loss grows in a straight line. At 1, many small errors outvote the
    # few large ones where episodes end: on CartPole values then grow without bound.
    huber: float = 10.0
    double: bool = True
    # Rows are drawn by their last TD error (Schaul et al., 2016), p**priority_alpha; the weights
    # that make up for it begin at priority_beta and are whole after beta_over steps.
    prioritised: bool = False
    priority_alpha: float = 0.6
    priority_beta: float = 0.4
    beta_over: int = 100_000
    # Rewards that are added up before values bootstrap, and the streams of `nets.dueling`.
    n_step: int = 1
    dueling: bool = False

    @property
    def bootstrap(self) -> float:
        """What a value is worth that is bootstrapped from."""
        return self.discount**self.n_step

    def check(self) -> None:
        AgentSettings.check(self)
        at_least(1, beta_over=self.beta_over, n_step=self.n_step)
        fraction(priority_alpha=self.priority_alpha, priority_beta=self.priority_beta)
        at_least(1, buffer=self.buffer, batch=self.batch, learning_starts=self.learning_starts)
        at_least(1, update_every=self.update_every, target_every=self.target_every)
        at_least(1, n_updates=self.n_updates, epsilon_over=self.epsilon_over)
        fraction(epsilon_start=self.epsilon_start, epsilon_end=self.epsilon_end)
        positive(max_norm=self.max_norm, huber=self.huber)

    def in_larger_batches(self, times: int) -> Self:
        """Return settings that learn from as many rows in so many times fewer updates.

        Their steps are longer by the root of it, as a gradient of more rows is surer (Krizhevsky,
        2014, arXiv:1404.5997). The target stays as old, in steps, as long as enough updates lie
        between two of them.
        """
        at_least(1, times=times)
        fewer = math.gcd(times, self.n_updates)
        n_updates, update_every = self.n_updates // fewer, self.update_every * (times // fewer)
        enough = min(self.target_every * self.n_updates, UPDATES_A_TARGET * self.update_every)
        return replace(
            self,
            learning_rate=self.learning_rate * math.sqrt(times),
            batch=self.batch * times,
            n_updates=n_updates,
            update_every=update_every,
            # `enough` updates, each of which now takes so many steps; rounded up.
            target_every=max(
                self.target_every, -(-enough * update_every // (self.update_every * n_updates))
            ),
        )


class DQN(DeepAgent):
    """A network of action values, and a slower copy of it to bootstrap from.

        q(s_tm1, a_tm1) -> r_t + discount q_target(s_t, argmax_a q(s_t, a))

    where nothing has terminated, and r_t where something has; without `double` the target network
    chooses the action too. With `n_step` r_t is what `n_step.Windows` adds up, and bootstrapped
    values are worth discount**n_step. The loss is `q_loss`.
    """

    name: ClassVar[str] = "dqn"
    settings_type: ClassVar[type[AgentSettings]] = DQNSettings
    # Whether its loss takes weights and tells the TD errors, and its network has two streams.
    can_extend: ClassVar[bool] = True

    def __init__(
        self, env: Environments, settings: DQNSettings | None = None, *, seed: int | None = None
    ) -> None:
        shape, settings = self._placed(env, settings, seed)
        require_numbered(self.name.upper(), shape)
        super().__init__(shape, seed)
        self.settings: Final = settings or self._default_settings()
        self.loss = 0.0  # of the last update
        self._batch: Transitions | None = None
        self._refuse_extensions()
        net_seed, replay_seed = seeds_of(seed, 2)
        self.net: Final = self._make_network(net_seed)
        self.target: Final = self._make_network(net_seed)
        self.replay: Final = self._make_replay(replay_seed)
        n_step, discount = self.settings.n_step, self.settings.discount
        self._windows: Final = (
            Windows(shape.n_envs, shape.obs_size, n_step, discount) if n_step > 1 else None
        )
        self._beta: Final = Linear(
            self.settings.priority_beta, 1.0, self.settings.beta_over, "step"
        )
        self._adam: Final = self._optimiser()
        self._epsilon: Final = Linear(
            self.settings.epsilon_start, self.settings.epsilon_end, self.settings.epsilon_over,
            "step",
        )  # fmt: skip
        self._actions: Final = np.zeros(shape.n_envs, np.int64)
        self._best: Final = np.zeros(self.settings.batch, np.int64)
        self._grad: Final = np.zeros((self.settings.batch, self._n_outputs()), np.float32)

    def _default_settings(self) -> DQNSettings:
        return DQNSettings()

    def _refuse_extensions(self) -> None:
        wanted = {
            "prioritised replay": self.settings.prioritised,
            "a dueling network": self.settings.dueling,
        }
        for what, is_wanted in wanted.items():
            if is_wanted and not self.can_extend:
                raise SettingError(
                    f"{what} is for dqn on numpy, and not for {self.name} on {self.backend}: "
                    "leave it out."
                )

    def _make_network(self, seed: int) -> MLP | DuelingMLP:
        sizes = [self.shape.obs_size, *self.settings.hidden, self._n_outputs()]
        make = DuelingMLP if self.settings.dueling else MLP
        room = max(self.settings.batch, self.shape.n_envs)
        return make(sizes, init="fan_in_uniform", max_batch=room, seed=seed)

    def _make_replay(self, seed: int) -> UniformReplay | PrioritisedReplay:
        settings, obs_size = self.settings, self.shape.obs_size
        if not settings.prioritised:
            return UniformReplay(settings.buffer, obs_size, batch_size=settings.batch, seed=seed)
        self._td_errors = np.zeros(settings.batch, np.float32)
        return PrioritisedReplay(
            settings.buffer, obs_size, batch_size=settings.batch, seed=seed,
            alpha=settings.priority_alpha, beta=settings.priority_beta,
        )  # fmt: skip

    def _n_outputs(self) -> int:
        return self.shape.n_actions

    def _optimiser(self) -> Optimiser:
        return Adam(self.net.params, self.net.grads, rate=self.settings.learning_rate)

    @classmethod
    def acting_type(cls) -> type[DQN]:
        """Return the class that a process makes which only acts by these weights."""
        return cls

    @property
    def settings_used(self) -> AgentSettings:
        return self.settings

    def values(self, obs: Observations) -> Array:
        """Return the values of all actions, (n, n_actions); the next call overwrites them."""
        return self._values_of(self.net, obs)

    def _values_of(self, net: MLP | DuelingMLP, obs: Observations) -> Array:
        return net.forward(obs)

    @property
    def epsilon(self) -> float:
        """The probability of a random action."""
        return self._epsilon.at(self.n_steps)

    @property
    def updates_made(self) -> int:
        return self._adam.n_steps

    def act(self, obs: Observations) -> Array:
        self.choose(obs, self._actions)
        return self._actions

    def choose(self, obs: Observations, actions: Array) -> None:
        """Choose an action for each row, with exploration; at most `net.max_batch` of them."""
        epsilon_greedy(self.values(obs), self._chance, ACTING, self.epsilon, actions)

    def greedy(self, obs: Observations) -> Array:
        return in_parts(obs, self.net.max_batch, lambda part: self.values(part).argmax(axis=1))

    def observe(self, step: Step) -> None:
        if self._windows is None:
            self.replay.add_step(step, self._actions)
        elif len(whole := self._windows.push(step, self._actions)):
            self.replay.add_batch(whole)
        self.advance(self.shape.n_envs)

    def advance(self, n: int) -> None:
        """Learn what is due: `n` more transitions are in the replay, whoever put them there."""
        before = self.n_steps
        self.n_steps = now = before + n
        settings = self.settings
        if now >= settings.learning_starts:
            n_times = now // settings.update_every - before // settings.update_every
            for _ in range(n_times * settings.n_updates):
                self.update()
        if now // settings.target_every > before // settings.target_every:
            self._follow()

    def update(self) -> None:
        """Make one step of the optimiser, by a batch from the replay."""
        replay = self.replay
        if self._windows is not None and not len(replay):
            return  # no window is whole yet
        if isinstance(replay, PrioritisedReplay):
            replay.beta = self._beta.at(self.n_steps)
            self._batch = drawn = replay.sample()
            self._improve(drawn)
            replay.update(drawn.indices, self._td_errors)
            return
        self._batch = replay.sample()
        self._improve(self._batch)

    def rehearse(self) -> None:
        if self._windows is not None:
            self.replay.add_batch(Transitions.zeros(1, self.shape.obs_size))
        self.update()

    def _improve(self, batch: Transitions) -> None:
        assert isinstance(self._adam, Adam)
        self.loss = self._differentiate(batch)
        self._require_finite(loss=self.loss)
        self.net.backward(self._grad)
        self._require_finite(gradient=clip_by_norm(self.net.grads, self.settings.max_norm))
        self._adam.step()

    def _follow(self) -> None:
        """Let the slower copy become what the network is now."""
        self.target.params[:] = self.net.params

    def _differentiate(self, batch: Transitions) -> float:
        """Return the loss; its gradient goes to `_grad`, and `net` has last seen obs_tm1."""
        q_t = self.target.forward(batch.obs_t)
        argmax_rows(self.net.forward(batch.obs_t) if self.settings.double else q_t, self._best)
        if isinstance(batch, PrioritisedTransitions):
            return weighted_q_loss(
                self.net.forward(batch.obs_tm1), batch.a_tm1, batch.r_t, q_t, self._best,
                batch.terminated_t, self.settings.bootstrap, self.settings.huber, batch.weights,
                self._td_errors, self._grad,
            )  # fmt: skip
        return q_loss(
            self.net.forward(batch.obs_tm1), batch.a_tm1, batch.r_t, q_t, self._best,
            batch.terminated_t, self.settings.bootstrap, self.settings.huber, self._grad,
        )  # fmt: skip

    def td_error(self) -> float:
        """Return the mean of |r_t + bootstrap max_a q_t(a) - q_tm1(a_tm1)| over the last batch."""
        batch = self._batch
        if batch is None:
            return math.nan
        rows = np.arange(len(batch))
        goal = self._values_of(self.target, batch.obs_t).max(axis=1)
        goal = batch.r_t + self.settings.bootstrap * goal * ~batch.terminated_t
        return float(np.abs(goal - self.values(batch.obs_tm1)[rows, batch.a_tm1]).mean())

    def parameters(self) -> list[Array]:
        return [self.net.params]

    def cut(self) -> None:
        """Forget the steps that wait for others; single transitions are whole, and none waits."""
        if self._windows is not None:
            self._windows.cut()

    def state(self) -> State:
        waiting = {} if self._windows is None else with_prefix("windows", self._windows.state())
        return {
            **waiting,
            **super().state(),
            "net": self.net.params.copy(),
            "target": self.target.params.copy(),
            **with_prefix("adam", self._adam.state()),
            **with_prefix("replay", self.replay.state()),
        }

    def set_state(self, state: Mapping[str, Array]) -> None:
        super().set_state(state)
        take_over(self.net.params, state["net"], "net")
        take_over(self.target.params, state["target"], "target")
        self._adam.set_state(under("adam", state))
        self.replay.set_state(under("replay", state))
        if self._windows is not None:
            self._windows.set_state(under("windows", state))


PIXEL_DQN: Final = "pixel-dqn"


@dataclass(frozen=True, slots=True)
class PixelSettings(DQNSettings):
    """An update has the gradient of `accumulate` times `batch` rows, and the memory of `batch`:
    4 times 512 learns as from 2048."""

    hidden: tuple[int, ...] = (512,)
    buffer: int = 50_000  # frames
    batch: int = 32
    accumulate: int = 1
    stack: int = 4
    target_every: int = 1000
    huber: float = 1.0

    def check(self) -> None:
        DQNSettings.check(self)
        if self.prioritised:
            raise SettingError("frames are not drawn by priority: leave prioritised out.")
        if self.dueling or self.n_step > 1:
            raise SettingError(
                "pixel-dqn has one stream and learns from single steps: leave dueling and "
                "n_step out."
            )
        at_least(1, accumulate=self.accumulate, stack=self.stack)
        at_least(2, learning_starts=self.learning_starts)  # a transition has two frames
        if len(self.hidden) != 1:
            raise SettingError("behind the convolutions there is 1 hidden layer: name its width.")
