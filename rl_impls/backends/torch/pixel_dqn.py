"""DQN that learns from frames: a convolutional network, large batches in parts, mixed precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
import torch
from numpy.typing import NDArray

from rl_impls.agents.agent import (
    AgentSettings,
    Array,
    DeepAgent,
    Environments,
    State,
    require_numbered,
    seeds_of,
    take_over,
    under,
    with_prefix,
)
from rl_impls.agents.choices import epsilon_greedy
from rl_impls.agents.dqn import ACTING, PIXEL_DQN, PixelSettings
from rl_impls.backends.torch.agents import QBatch, q_loss
from rl_impls.backends.torch.computing import Computing, Descent, FlatAdam, sent, spread
from rl_impls.envs.control.step import Step
from rl_impls.errors import SettingError
from rl_impls.replay.frames import FrameReplay, FrameTransitions
from rl_impls.schedules import Linear

Frames = NDArray[np.uint8]


class Stacks:
    """(n_envs, stack, *frame), the newest last. An episode begins with its first frame repeated, as
    in `replay.frames`."""

    def __init__(self, n_envs: int, stack: int, frame: tuple[int, ...]) -> None:
        self.seen: Final[Frames] = np.zeros((n_envs, stack, *frame), np.uint8)
        self._begins: Final = np.ones(n_envs, np.bool_)

    def push(self, frames: Frames) -> Frames:
        """Take in the next frames, and return what is seen now."""
        self.seen[:, :-1] = self.seen[:, 1:]
        self.seen[:, -1] = frames
        for row in np.flatnonzero(self._begins):
            self.seen[row] = frames[row]
        self._begins[:] = False
        return self.seen

    def end(self, ended: NDArray[np.bool_]) -> None:
        """Begin other episodes with the next frames of these."""
        np.logical_or(self._begins, ended, out=self._begins)


# Filters, their side, and the step from one to the next.
LAYERS: Final = ((32, 8, 4), (64, 4, 2), (64, 3, 1))


class ConvQ(torch.nn.Module):
    """Maps stacks of frames of bytes, (n, stack, height, width), to values of actions.

    Layers before a BatchNorm have no bias, which it would take away again, as it does the scale of
    their first weights; the others begin as torch's do. A ReLU overwrites what it gets. BatchNorm
    divides by kept statistics in acting and in learning alike; only `renew` changes them. So rows
    of a batch do not depend on each other: a batch in parts has the gradient of the whole, and one
    frame the value that it had among many.
    """

    def __init__(self, stack: int, frame: tuple[int, ...], n_actions: int, width: int) -> None:
        super().__init__()
        layers: list[torch.nn.Module] = []
        channels = stack
        for filters, side, step in LAYERS:
            layers += [
                torch.nn.Conv2d(channels, filters, side, step, bias=False),
                # What is renewed replaces what was there.
                torch.nn.BatchNorm2d(filters, momentum=1.0),
                torch.nn.ReLU(inplace=True),
            ]
            channels = filters
        n_features = channels * _area(frame)
        layers += [
            torch.nn.Flatten(),
            torch.nn.Linear(n_features, width),
            torch.nn.ReLU(inplace=True),
            torch.nn.Linear(width, n_actions),
        ]
        self.layers: Final = torch.nn.Sequential(*layers)
        for layer in self.layers:
            if isinstance(layer, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        self.eval()

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.layers(frames.float() / 255.0)

    def renew(self, frames: torch.Tensor) -> None:
        """Take the statistics of BatchNorm from these."""
        self.train()
        with torch.no_grad():
            self(frames)
        self.eval()


def _area(frame: tuple[int, ...]) -> int:
    """Return how many numbers the convolutions leave of a frame."""
    area = 1
    for length in frame:
        for _, side, step in LAYERS:
            length = (length - side) // step + 1
            if length < 1:
                raise SettingError(f"frames of {frame} are too small: 36 x 36 is the least.")
        area *= length
    return area


def flattened(module: torch.nn.Module) -> torch.Tensor:
    """Move all numbers that decide what a module puts out to one flat tensor, which they stay parts
    of: to copy a network or to publish it is one pass."""
    buffers = [buffer for buffer in module.buffers() if buffer.is_floating_point()]
    values: list[Any] = [*module.parameters(), *buffers]
    flat = torch.cat([value.detach().reshape(-1) for value in values])
    at = 0
    for value in values:
        value.data = flat[at : at + value.numel()].view_as(value)
        at += value.numel()
    return flat


def on_host(flat: torch.Tensor) -> NDArray[Any]:
    """Return the numbers as an array: the same memory where that is the CPU's."""
    return flat.detach().cpu().numpy()


class PixelDQN(DeepAgent):
    """A DQN of one environment. Its replay is not saved with it, since frames are many: one that
    goes on from a file plays as long as a new one does until it learns."""

    name: ClassVar[str] = PIXEL_DQN
    settings_type: ClassVar[type[AgentSettings]] = PixelSettings
    backend: ClassVar[str] = "torch"
    sees_frames: ClassVar[bool] = True

    def __init__(
        self,
        env: Environments,
        settings: PixelSettings | None = None,
        *,
        seed: int | None = None,
        computing: Computing | None = None,
    ) -> None:
        shape, settings = self._placed(env, settings, seed)
        require_numbered("DQN", shape)
        if shape.n_envs != 1:
            raise SettingError(f"frames are kept of 1 environment, and not of {shape.n_envs}.")
        super().__init__(shape, seed)
        self.settings: Final = settings or PixelSettings()
        self.loss = 0.0  # of the last update
        self._n_kept = 0  # steps that the replay was shown
        self._computing: Final = computing or Computing()
        self._device: Final = self._computing.place
        net_seed, replay_seed = seeds_of(seed, 2)
        self.net: Final = self._network(net_seed)
        self.target: Final = self._network(net_seed)
        self._flat, self._target_flat = flattened(self.net), flattened(self.target)
        self.replay: Final = FrameReplay(
            self.settings.buffer, shape.frame, stack=self.settings.stack,
            batch_size=self.settings.batch, seed=replay_seed,
        )  # fmt: skip
        self._adam: Final = FlatAdam(list(self.net.parameters()), self.settings.learning_rate)
        self._descent: Final = Descent(
            [self._adam], self._computing, max_norm=self.settings.max_norm
        )
        self._loss: Final = self._make_loss()
        self._epsilon: Final = Linear(
            self.settings.epsilon_start, self.settings.epsilon_end, self.settings.epsilon_over,
            "step",
        )  # fmt: skip
        self._stacks: Final = Stacks(1, self.settings.stack, shape.frame)
        self._actions: Final = np.zeros(1, np.int64)

    def _network(self, seed: int) -> ConvQ:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            made = ConvQ(
                self.settings.stack, self.shape.frame, self.shape.n_actions, self.settings.hidden[0]
            )
        return made.to(self._device)

    def _make_loss(self) -> Any:
        nets = (spread(net, self._device) for net in (self.net, self.target))
        loss = partial(
            q_loss,
            *nets,
            discount=self.settings.discount,
            huber=self.settings.huber,
            double=self.settings.double,
        )
        return self._computing.ready(loss)

    @property
    def settings_used(self) -> AgentSettings:
        return self.settings

    @property
    def updates_made(self) -> int:
        return self._adam.n_steps

    def values(self, stacks: Frames) -> Array:
        """Return the values of actions, (n, n_actions), for stacks of frames."""
        with torch.no_grad(), self._descent.precision():
            return self.net(sent(stacks, self._device)).float().cpu().numpy()

    def act(self, obs: Any) -> Array:
        seen = self._stacks.push(obs)
        epsilon = self._epsilon.at(self.n_steps)
        epsilon_greedy(self.values(seen), self._chance, ACTING, epsilon, self._actions)
        return self._actions

    def greedy(self, obs: Any) -> Array:
        """Return the best actions for stacks, or for single frames, which then stand still; see
        `player`."""
        stacks = obs if obs.ndim == 4 else np.repeat(obs[:, None], self.settings.stack, axis=1)
        return self.values(np.ascontiguousarray(stacks)).argmax(axis=1)

    def observe(self, step: Step) -> None:
        frames: Any = step.obs_tm1
        self.replay.add(
            frames[0], int(self._actions[0]), float(step.r_t[0]), bool(step.terminated[0])
        )
        ended = step.terminated | step.truncated
        if ended[0]:
            last: Any = step.obs_t
            self.replay.end(last[0])
        self._stacks.end(ended)
        self.n_steps += 1
        self._n_kept += 1
        if self._n_kept >= self.settings.learning_starts:
            self._learn()

    def _learn(self) -> None:
        settings = self.settings
        first = self.updates_made == 0
        if self.n_steps % settings.update_every == 0:
            if first:
                self.follow()
            for _ in range(settings.n_updates):
                self.update()
        if self.n_steps % settings.target_every == 0:
            self.follow()

    def update(self) -> None:
        """Make one step of the optimiser, by as many batches from the replay as are accumulated."""
        parts = self.settings.accumulate
        self.improve(self.replay.sample() for _ in range(parts))

    def improve(self, parts: Any) -> None:
        """Make one step by these batches of equal size, each of them drawn when it is needed."""
        share = 1.0 / self.settings.accumulate
        losses = []
        for part in parts:
            with self._descent.precision():
                loss = self._loss(self._there(part))
            self._descent.add(loss, share)
            losses.append(loss.detach())
        gradient = self._descent.step()
        self.loss = torch.stack(losses).mean().item()
        self._require_finite(loss=self.loss, gradient=gradient.item())

    def _there(self, batch: FrameTransitions) -> QBatch:
        return QBatch(*(sent(array, self._device) for array in batch[:-1]))

    def follow(self) -> None:
        """Renew the statistics that frames are normalised by; the target becomes what the network
        is then."""
        self.net.renew(sent(self.replay.sample().obs_tm1, self._device))
        self._target_flat.copy_(self._flat)

    def rehearse(self) -> None:
        # A transition is whole with the frame that follows.
        self.replay.end(np.zeros(self.shape.frame, np.uint8))
        self.update()

    def player(self, n_envs: int) -> Playing:
        return Playing(self, n_envs)

    def parameters(self) -> list[Array]:
        """Return one flat array, as actors get it; on a GPU it is a copy."""
        return [on_host(self._flat)]

    def set_parameters(self, arrays: Sequence[Array]) -> None:
        (flat,) = arrays
        _fill(self._flat, flat, "a network")

    def cut(self) -> None:
        self._stacks.end(np.ones(1, np.bool_))

    def state(self) -> State:
        return {
            **super().state(),
            "net": on_host(self._flat).copy(),
            "target": on_host(self._target_flat).copy(),
            **with_prefix("adam", self._adam.state()),
        }

    def set_state(self, state: Mapping[str, Array]) -> None:
        super().set_state(state)
        for name, flat in (("net", self._flat), ("target", self._target_flat)):
            _fill(flat, state[name], name)
        self._adam.set_state(under("adam", state))


def _fill(flat: torch.Tensor, array: Array, name: str) -> None:
    """Copy an array to a tensor, wherever that is."""
    there = on_host(flat).copy()
    take_over(there, array, name)
    flat.copy_(torch.from_numpy(there))


class Playing:
    """An agent that plays many environments greedily: it knows what it saw of each since the
    beginning of its first episode."""

    def __init__(self, agent: PixelDQN, n_envs: int) -> None:
        self._agent: Final = agent
        self._stacks: Final = Stacks(n_envs, agent.settings.stack, agent.shape.frame)

    def greedy(self, obs: Any) -> Array:
        return self._agent.greedy(self._stacks.push(obs))

    def end(self, ended: Any) -> None:
        """Forget what was seen of the episodes that ended."""
        self._stacks.end(ended)
