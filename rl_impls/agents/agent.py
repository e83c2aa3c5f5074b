"""What the settings of agents have in common: plain numbers, checked once, saved as JSON."""

from __future__ import annotations

import json
import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rl_impls.envs.control.compiled import CompiledBatch, Snapshot
from rl_impls.envs.control.step import ControlBatch, Observations, Step
from rl_impls.errors import AgentFileError, Diverged, ImplsError, SettingError, SpaceError
from rl_impls.splitmix import streams
from rl_impls.whole_file import whole_file

if TYPE_CHECKING:
    from rl_impls.agents.training import BestCheckpoint


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Hidden layers, learning rate, discount."""

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 3e-4
    discount: float = 0.99

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """One sentence on the first value that makes no sense."""
        if not self.hidden:
            raise SettingError("hidden names the width of at least 1 layer.")
        for width in self.hidden:
            at_least(1, hidden=width)
        fraction(learning_rate=self.learning_rate, discount=self.discount)

    def as_data(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        values = dict(data)
        values["hidden"] = tuple(values["hidden"])
        return cls(**values)


def at_least(least: int, **values: int) -> None:
    for name, value in values.items():
        if not value >= least:
            raise SettingError(f"{name} is at least {least}, not {value}.")


def fraction(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 <= value <= 1.0:
            raise SettingError(f"{name} lies between 0 and 1, not at {value}.")


def positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise SettingError(f"{name} lies above 0, not at {value}.")


def not_negative(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise SettingError(f"{name} is 0 or more, not {value}.")


# An end to trainings whose numbers are no longer finite, before they reach the parameters.


def require_finite(agent: str, n_steps: int, rate: float, **values: float) -> None:
    """To be asked between a gradient and the step of its optimiser: what was learned is kept."""
    for name, value in values.items():
        if not math.isfinite(value):
            raise Diverged(
                f"{agent}, step {n_steps:,}: the {name} is {value}, and was kept away from the "
                f"parameters: choose a learning rate below {rate:g}, or look for observations and "
                "rewards that are not finite."
            )


# What a training loop knows of an agent, and what agents have in common.


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
        save(path, self, env, stopping)

    @classmethod
    def load(
        cls,
        path: Path,
        env: ControlBatch | None = None,
        stopping: BestCheckpoint | None = None,
    ) -> Self:
        """The agent as it was saved; `env` and `stopping` are put where they were then."""
        return load(cls, path, env, stopping)


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


# Saved agents: a NumPy archive of their arrays, and a header of JSON.
#
# Version 1: header {version, agent, shape, settings, n_steps}; arrays `agent.*`, and `env.*` of a
# compiled batch and `stopping.*` of a checkpoint (an early stopping is one) where they were given.


VERSION: Final = 1
REMEDY: Final = "name a file that an agent's save() wrote."
_SNAPSHOT: Final = ("states", "elapsed", "chance")

Kind = TypeVar("Kind", bound="DeepAgent")


def save(
    path: Path, agent: DeepAgent, env: ControlBatch | None, stopping: BestCheckpoint | None
) -> None:
    header = {
        "version": VERSION,
        "agent": agent.name,
        "shape": agent.shape._asdict(),
        "settings": agent.settings_used.as_data(),
        "n_steps": agent.n_steps,
    }
    arrays: dict[str, Any] = {f"agent.{name}": array for name, array in agent.state().items()}
    if isinstance(env, CompiledBatch):
        snapshot = env.snapshot()
        arrays |= {f"env.{name}": getattr(snapshot, name) for name in _SNAPSHOT}
    if stopping is not None:
        arrays |= {f"stopping.{name}": array for name, array in stopping.state().items()}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    try:
        with whole_file(path) as file:
            np.savez(file, header=text, **arrays)
    except OSError as error:
        raise AgentFileError(
            f"the agent cannot be written to {path} ({error.strerror}), and what was there before "
            "is as it was: make room, or choose another place."
        ) from error


def load(
    kind: type[Kind], path: Path, env: ControlBatch | None, stopping: BestCheckpoint | None
) -> Kind:
    header, arrays = _read(path)
    version = header.get("version") if isinstance(header, dict) else None
    if version != VERSION:
        raise AgentFileError(
            f"{path} has version {version!r}, and this release reads version {VERSION}: "
            "load it with the release that wrote it."
        )
    if header.get("agent") != kind.name:
        raise AgentFileError(
            f"{path} holds the agent {header.get('agent')!r}, not {kind.name!r}: "
            "load it as what it is."
        )
    try:
        return _restored(kind, header, arrays, env, stopping)
    except (KeyError, TypeError, ValueError, ImplsError) as error:
        raise AgentFileError(f"{path} contradicts itself ({error}): {REMEDY}") from error


def _read(path: Path) -> tuple[Any, State]:
    try:
        # Opened here: NumPy leaves a damaged archive's file open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
            return json.loads(arrays.pop("header").tobytes()), arrays
    except FileNotFoundError as error:
        raise AgentFileError(f"there is no saved agent at {path}: save one first.") from error
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise AgentFileError(f"{path} holds no saved agent, or a damaged one: {REMEDY}") from error


def _restored(
    kind: type[Kind],
    header: Any,
    arrays: State,
    env: ControlBatch | None,
    stopping: BestCheckpoint | None,
) -> Kind:
    # Imported here: that module needs this one.
    pass

    shape = dict(header["shape"])
    for name, value in shape.items():
        shape[name] = tuple(value) if isinstance(value, list) else value
    settings = kind.settings_type.from_data(header["settings"])
    make: Any = kind  # each agent's constructor takes settings of its own type
    agent: Kind = make(Shape(**shape), settings, seed=0)
    agent.set_state(under("agent", arrays))
    agent.n_steps = int(header["n_steps"])
    if stopping is not None:
        stopping.set_state(under("stopping", arrays))
    snapshot = under("env", arrays)
    if isinstance(env, CompiledBatch) and snapshot:
        env.restore(Snapshot(*(snapshot[name] for name in _SNAPSHOT)))
    else:
        agent.cut()
    return agent
