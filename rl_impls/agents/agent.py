"""What a training loop knows of an agent, and what agents have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rl_impls.agents import files
from rl_impls.agents.divergence import require_finite
from rl_impls.agents.settings import AgentSettings
from rl_impls.envs.control.step import ControlBatch, Observations, Step
from rl_impls.errors import SettingError, SpaceError
from rl_impls.splitmix import streams

if TYPE_CHECKING:
    from rl_impls.agents.checkpoint import BestCheckpoint

Array = NDArray[Any]
State = dict[str, Array]


class Shape(NamedTuple):
    """The environments an agent is made for; see `step.ControlBatch`."""

    n_envs: int
    obs_size: int
    n_actions: int = 0
    act_size: int = 0
    act_low: tuple[float, ...] = ()
    act_high: tuple[float, ...] = ()
    frame: tuple[int, ...] = ()  # height and width, where frames are seen and not rows of numbers


def shape_of(env: ControlBatch) -> Shape:
    frame = env.obs.shape[1:] if env.obs.dtype == np.uint8 else ()
    low, high = (tuple(map(float, bound)) for bound in (env.act_low, env.act_high))
    return Shape(env.n_envs, env.obs_size, env.n_actions, env.act_size, low, high, frame)


class Plays(Protocol):
    """All that is asked of who plays a first episode in each of many environments."""

    def greedy(self, obs: Observations) -> Array:
        """The best known action for each row, of which there may be any number."""


class Agent(Plays, Protocol):
    """All that `training.train` and `checkpoint.BestCheckpoint` ask for."""

    @property
    def shape(self) -> Shape: ...

    @property
    def n_steps(self) -> int:
        """Steps observed so far, of all environments together."""

    def act(self, obs: Observations) -> Array:
        """An action for every environment, with exploration; overwritten by the next call."""

    def observe(self, step: Step) -> None:
        """Where the last actions led. Learns when it is time to."""

    def parameters(self) -> list[Array]:
        """The arrays that decide what `greedy` returns."""

    def set_parameters(self, arrays: Sequence[Array]) -> None:
        """What `parameters` returned before, or those of another agent of its kind."""


class DeepAgent(ABC):
    """The part of an agent that does not depend on how it learns."""

    name: ClassVar[str]
    settings_type: ClassVar[type[AgentSettings]]
    backend: ClassVar[str] = "numpy"  # what its updates are computed with
    sees_frames: ClassVar[bool] = False

    def __init__(self, shape: Shape, seed: int | None) -> None:
        if bool(shape.frame) != self.sees_frames:
            raise SpaceError(
                f"these environments show {'frames' if shape.frame else 'rows of numbers'}, and "
                f"{self.name} learns from the other: name an environment or an agent that fits."
            )
        self.shape: Final = shape
        self.n_steps = 0
        # Streams of chance: one for actions, one for what is learned from.
        self._chance: Final = streams(seed, 2)

    @abstractmethod
    def act(self, obs: Observations) -> Array: ...

    @abstractmethod
    def observe(self, step: Step) -> None: ...

    @abstractmethod
    def greedy(self, obs: Observations) -> Array: ...

    @abstractmethod
    def parameters(self) -> list[Array]: ...

    def set_parameters(self, arrays: Sequence[Array]) -> None:
        for own, array in zip(self.parameters(), arrays, strict=True):
            take_over(own, array, "an array of parameters")

    def player(self, n_envs: int) -> Plays:
        """Who plays an episode in each of so many environments; what was seen before may count."""
        return self

    @property
    @abstractmethod
    def settings_used(self) -> AgentSettings: ...

    def state(self) -> State:
        """All that is needed to go on bit for bit, the counter of steps aside."""
        return {"chance": self._chance.copy()}

    def set_state(self, state: Mapping[str, Array]) -> None:
        self._chance[:] = state["chance"]

    @abstractmethod
    def cut(self) -> None:
        """The environments begin anew: forget what waits for its continuation."""

    @abstractmethod
    def rehearse(self) -> None:
        """Learn once from whatever was observed: what has to be compiled is compiled then."""

    def _require_finite(self, **values: float) -> None:
        require_finite(self.name.upper(), self.n_steps, self.settings_used.learning_rate, **values)

    def save(
        self,
        path: Path,
        env: ControlBatch | None = None,
        stopping: BestCheckpoint | None = None,
    ) -> None:
        """Write the agent, and a compiled batch and a checkpoint where they are given."""
        files.save(path, self, env, stopping)

    @classmethod
    def load(
        cls,
        path: Path,
        env: ControlBatch | None = None,
        stopping: BestCheckpoint | None = None,
    ) -> Self:
        """The agent as it was saved; `env` and `stopping` are put where they were then."""
        return files.load(cls, path, env, stopping)


def require_numbered(agent: str, shape: Shape) -> None:
    if shape.n_actions < 1:
        raise SettingError(
            f"{agent} chooses among numbered actions, and these environments have none: "
            "choose another agent."
        )


def require_continuous(agent: str, shape: Shape) -> None:
    if shape.act_size < 1:
        raise SettingError(
            f"{agent} chooses continuous actions, and these environments have none: "
            "choose another agent."
        )
    if not np.isfinite(shape.act_low + shape.act_high).all():
        raise SettingError(f"{agent} needs finite bounds of actions: wrap the environment.")


def seeds_of(seed: int | None, n: int) -> list[int]:
    """`n` seeds for networks and replay from one."""
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(n, np.uint64)]


def in_parts(obs: Array, room: int, choose: Callable[[Array], Array]) -> Array:
    """Actions for any number of rows by a network with room for `room`."""
    actions: Array = np.concatenate([choose(obs[i : i + room]) for i in range(0, len(obs), room)])
    return actions


def with_prefix(prefix: str, state: Mapping[str, Array]) -> State:
    return {f"{prefix}.{name}": array for name, array in state.items()}


def under(prefix: str, state: Mapping[str, Array]) -> State:
    start = f"{prefix}."
    return {name[len(start) :]: array for name, array in state.items() if name.startswith(start)}


def take_over(target: Array, source: Array, name: str) -> None:
    """Copy a saved array to where it belongs, if it is like the one there."""
    if source.shape != target.shape or source.dtype != target.dtype:
        raise SettingError(
            f"{name} is {source.dtype} {source.shape}, not {target.dtype} {target.shape}."
        )
    target[...] = source
