"""Agents as a loop sees them, the part they have in common, and the loop itself."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    NamedTuple,
    Protocol,
    Self,
    TypeVar,
    cast,
)

import numpy as np
from numpy.typing import NDArray

from rl_impls.archive import Format, Header, counted
from rl_impls.envs.control.compiled import CompiledBatch, Snapshot
from rl_impls.envs.control.make import EnvSource, batch_of, name_of
from rl_impls.envs.control.step import ControlBatch, Observations, Step
from rl_impls.errors import (
    AgentFileError,
    Diverged,
    SettingError,
    SpaceError,
    at_least,
    fraction,
)
from rl_impls.registry import located, preset_for
from rl_impls.splitmix import streams

if TYPE_CHECKING:
    from rl_impls.agents.evaluation import BestCheckpoint
    from rl_impls.learning import Report

Array = NDArray[Any]
State = dict[str, Array]

# Version 1: header {version, agent, env, shape, settings, n_steps}, in early files without `env`;
# arrays `agent.*`, and `env.*` of a compiled batch and `stopping.*` of a checkpoint, if any.
_FORMAT: Final = Format(
    what="agent",
    version=1,
    error=AgentFileError,
    unwritten=", and what was there before is as it was: make room, or choose another place.",
    remedy="name a file that an agent's save() wrote.",
)
_SNAPSHOT: Final = ("states", "elapsed", "chance")


# What a setting may be, by the type of its default.
_KINDS: Final[dict[type, tuple[type | tuple[type, ...], str]]] = {
    bool: ((bool, np.bool_), "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    tuple: ((tuple, list), "several whole numbers, as (64, 64)"),
}
_ANYTHING: Final = (object, "")


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings that all agents know: hidden layers, learning rate, discount."""

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 3e-4
    discount: float = 0.99

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            kind, wanted = _KINDS.get(type(each.default), _ANYTHING)
            if not isinstance(value, kind):
                raise SettingError(f"{each.name} is {wanted}, and not {value!r}: correct it.")
        self.check()

    def check(self) -> None:
        """Refuse the first value that makes no sense, with one sentence."""
        if not self.hidden:
            raise SettingError("hidden names the width of at least 1 layer.")
        for width in self.hidden:
            at_least(1, hidden=width)
        fraction(learning_rate=self.learning_rate, discount=self.discount)

    def as_data(self) -> dict[str, Any]:
        """Return the settings as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return settings that JSON held; raises ValueError or TypeError where they are none."""
        values = {**data, "hidden": tuple(data["hidden"])}
        for each in fields(cls):
            value, kind = values.get(each.name, each.default), type(each.default)
            number = kind is float and type(value) is int
            if type(value) is not kind and not number:
                raise ValueError(f"{each.name} is no {kind.__name__}")
        for width in values["hidden"]:
            _whole(width, "hidden")
        return cls(**values)


Chosen = TypeVar("Chosen", bound=AgentSettings)


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


Environments = Shape | EnvSource
"""What an agent is made for: environments of its own to learn in, or only their shape."""


class Plays(Protocol):
    """Chooses actions in each of many environments; an evaluation asks for no more."""

    def greedy(self, obs: Observations) -> Array:
        """Return the best known action for each row, of which there may be any number."""


class Agent(Plays, Protocol):
    """Acts and learns; the loop and a checkpoint ask for no more."""

    @property
    def shape(self) -> Shape: ...

    @property
    def n_steps(self) -> int:
        """The steps observed so far, of all environments together."""

    def act(self, obs: Observations) -> Array:
        """Return an action for every environment, with exploration; the next call overwrites
        them."""

    def observe(self, step: Step) -> None:
        """Take in where the last actions led, and learn when it is time to."""

    def parameters(self) -> list[Array]:
        """Return the arrays that decide what `greedy` returns."""

    def set_parameters(self, arrays: Sequence[Array]) -> None:
        """Take over what `parameters` returned before, here or of another agent of its kind."""


class DeepAgent(ABC):
    """The part of an agent that does not depend on how it learns."""

    name: ClassVar[str]
    settings_type: ClassVar[type[AgentSettings]]
    backend: ClassVar[str] = "numpy"  # what its updates are computed with
    sees_frames: ClassVar[bool] = False
    env: ControlBatch | None = None  # where `learn` plays: an agent made by name has its own
    env_source: EnvSource | None = None  # what `env` was made of, and more can be

    def __init__(self, shape: Shape, seed: int | None) -> None:
        if bool(shape.frame) != self.sees_frames:
            raise SpaceError(
                "these environments show frames, and "
                f"{self.name} learns from rows of numbers: choose pixel-dqn, or wrap them."
                if shape.frame
                else f"these environments show rows of numbers, and {self.name} learns from "
                "frames: choose another agent."
            )
        self.shape: Final = shape
        self.n_steps = 0
        # Streams of chance: one for actions, one for what is learned from.
        self._chance: Final = streams(seed, 2)

    def _placed(
        self, env: Environments, settings: Chosen | None, seed: int | None
    ) -> tuple[Shape, Chosen | None]:
        """Return the shape to be made for, and the settings.

        A name or a function makes the environments too, as many as the preset for them has, and
        the preset chooses the settings where none are given.
        """
        if settings is not None and not isinstance(settings, self.settings_type):
            raise SettingError(
                f"{self.name} takes {self.settings_type.__name__}(…), and not "
                f"{type(settings).__name__}: python -m rl_impls list {self.name} names what is in "
                "it."
            )
        if isinstance(env, Shape):
            return env, settings
        preset = preset_for(self.name, name_of(env) or "")
        self.env = batch_of(env, preset.n_envs, seed=seed)
        self.env_source = env
        return shape_of(self.env), settings or cast(Chosen, preset.settings)

    @property
    def env_name(self) -> str | None:
        """The name of its environments, where they have one."""
        return None if self.env_source is None else name_of(self.env_source)

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
        """Return what plays an episode in each of so many environments; what was seen before may
        count."""
        return self

    @property
    @abstractmethod
    def settings_used(self) -> AgentSettings: ...

    def state(self) -> State:
        """Return all that is needed to go on bit for bit, the counter of steps aside."""
        return {"chance": self._chance.copy()}

    def set_state(self, state: Mapping[str, Array]) -> None:
        take_over(self._chance, state["chance"], "the array of random numbers")

    @abstractmethod
    def cut(self) -> None:
        """Forget what waits for its continuation: the environments begin anew."""

    @abstractmethod
    def rehearse(self) -> None:
        """Learn once from whatever was observed: what has to be compiled is compiled then."""

    def _require_finite(self, **values: float) -> None:
        require_finite(self.name.upper(), self.n_steps, self.settings_used.learning_rate, **values)

    def learn(
        self,
        n_steps: int,
        *,
        callbacks: Sequence[Callable[[Report], bool | None]] = (),
        every: int | None = None,
        progress: bool = False,
        log: str | Path | None = None,
        tensorboard: str | Path | None = None,
    ) -> Self:
        """Act and learn for `n_steps` steps in the agent's own environments, and return it.

        Every so many steps, about a hundred times where `every` does not say, each of `callbacks`
        is called with a `Report`, and one that returns True ends the training. `log` is a CSV file
        and `tensorboard` a folder that these reports go to as well; `progress` shows a bar.
        """
        # The loop with its reports lies above the agents, which know it by its place alone.
        learn: Any = located("rl_impls.learning:learn")
        learn(
            self, n_steps, callbacks=callbacks, every=every, progress=progress, log=log,
            tensorboard=tensorboard,
        )  # fmt: skip
        return self

    def own_env(self) -> ControlBatch:
        """Return the environments to learn in; a loaded agent makes those of the saved name."""
        if self.env is None:
            if self.env_source is None:
                raise SettingError(
                    f"this {self.name} has no environments of its own: make it by their name, "
                    "load it with them, or call train(agent, env, n_steps)."
                )
            self.env = batch_of(self.env_source, self.shape.n_envs)
        return self.env

    def save(
        self,
        path: str | Path,
        env: ControlBatch | None = None,
        stopping: BestCheckpoint | None = None,
    ) -> None:
        """Write the agent, its environments where they are compiled ones, and a checkpoint where it
        is given."""
        env = env or self.env
        header: Header = {
            "agent": self.name,
            # A name with a colon imports a module: whoever loads the file has to say it again.
            "env": None if ":" in (self.env_name or "") else self.env_name,
            "shape": self.shape._asdict(),
            "settings": self.settings_used.as_data(),
            "n_steps": self.n_steps,
        }
        arrays = with_prefix("agent", self.state())
        if isinstance(env, CompiledBatch):
            snapshot = env.snapshot()
            arrays |= {f"env.{name}": getattr(snapshot, name) for name in _SNAPSHOT}
        if stopping is not None:
            arrays |= with_prefix("stopping", stopping.state())
        _FORMAT.write(Path(path), header, arrays)

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: EnvSource | None = None,
        stopping: BestCheckpoint | None = None,
    ) -> Self:
        """Return the agent as it was saved; `env` and `stopping` are put where they were then.

        Without `env` it makes those of the saved name when it is to `learn`.
        """
        header, arrays = _FORMAT.read(Path(path))
        if header.get("agent") != cls.name:
            raise AgentFileError(
                f"{path} holds the agent {header.get('agent')!r}, not {cls.name!r}: "
                "load it as what it is."
            )
        with _FORMAT.restoring(Path(path)):
            agent = cls._restored(header, arrays, stopping)
        batch = None if env is None else batch_of(env, agent.shape.n_envs)
        with _FORMAT.restoring(Path(path)):
            agent._go_on_in(batch, under("env", arrays))
        agent.env_source = header["env"] if env is None else env
        return agent

    @classmethod
    def _restored(
        cls,
        header: Header,
        arrays: State,
        stopping: BestCheckpoint | None,
    ) -> Self:
        shape = _shape_from(header["shape"])
        settings = cls.settings_type.from_data(header["settings"])
        (n_steps,) = counted(header, "n_steps")
        _check_name(header.setdefault("env", None))  # which early files do not tell
        _require_room(shape, settings, arrays)
        make: Any = cls  # each agent's constructor takes settings of its own type
        agent: Self = make(shape, settings, seed=0)
        agent.set_state(under("agent", arrays))
        agent.n_steps = n_steps
        if stopping is not None:
            stopping.set_state(under("stopping", arrays))
        return agent

    def _go_on_in(self, env: ControlBatch | None, snapshot: State) -> None:
        if isinstance(env, CompiledBatch) and snapshot:
            env.restore(Snapshot(*(snapshot[name] for name in _SNAPSHOT)))
        else:
            self.cut()
        self.env = env


def _check_name(name: object) -> None:
    """Refuse what is no plain name: by one with a colon a file would choose a module to import."""
    if name is not None and (not isinstance(name, str) or ":" in name):
        raise ValueError(f"its environment is {str(name)[:40]!r}")


def _shape_from(data: Mapping[str, Any]) -> Shape:
    for name in ("n_envs", "obs_size", "n_actions", "act_size"):
        _whole(data[name], name)
    at_least(1, n_envs=data["n_envs"])
    bounds = {name: tuple(map(float, data[name])) for name in ("act_low", "act_high")}
    frame = tuple(_whole(length, "frame") for length in data.get("frame", ()))
    return Shape(**{**data, **bounds, "frame": frame})


def _whole(value: object, name: str) -> int:
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError(f"{name} is {str(value)[:40]}")
    return value


def _require_room(shape: Shape, settings: AgentSettings, arrays: State) -> None:
    """Refuse sizes of which the file cannot hold the parameters, before room is made for them."""
    held = sum(array.size for array in arrays.values())
    widths = (*(() if shape.frame else (shape.obs_size,)), *settings.hidden)
    needed = sum(inner * outer for inner, outer in itertools.pairwise(widths))
    if max(needed, shape.n_envs, shape.n_actions, shape.act_size) > held:
        raise ValueError("it is too small for the networks that it tells of")


class CountsSteps(Protocol):
    """Counts the episodes and rewards of a loop, step by step."""

    def count(self, step: Step) -> None: ...


def train(
    agent: Agent, env: ControlBatch, n_steps: int, *, tally: CountsSteps | None = None
) -> int:
    """Let the agent act and learn for `n_steps` steps of all environments together.

    The batch goes on from where it stands, and steps as a whole: the last one may lead beyond
    `n_steps`. Returns how many steps there were. What is to happen every so often is a hook of
    `runtimes.run`.
    """
    at_least(1, n_steps=n_steps)
    check_fits(agent, env)
    start = agent.n_steps
    goal = start + n_steps
    obs = env.obs
    while agent.n_steps < goal:
        step = env.step(agent.act(obs))
        agent.observe(step)
        obs = step.next_obs
        if tally is not None:
            tally.count(step)
    return agent.n_steps - start


def check_fits(agent: Agent, env: ControlBatch) -> None:
    """Refuse environments that the agent was not made for."""
    shape = shape_of(env)
    if agent.shape != shape:
        raise SettingError(
            f"the agent was made for {_number(agent.shape)} with {_told(agent.shape)}, and here "
            f"{'is' if shape.n_envs == 1 else 'are'} {_number(shape)} with {_told(shape)}: make an "
            "agent for these, or name those."
        )


def check_plays(agent: Plays, env: ControlBatch) -> None:
    """Refuse environments that the agent cannot play, however many there are."""
    shape = shape_of(env)
    if isinstance(agent, DeepAgent) and agent.shape._replace(n_envs=shape.n_envs) != shape:
        raise SettingError(
            f"this {agent.name} was made for {_told(agent.shape)}, and here are {_told(shape)}: "
            "name the environment that it was made for."
        )


def _told(shape: Shape) -> str:
    seen = f"frames of {shape.frame}" if shape.frame else f"{shape.obs_size} numbers"
    acts = f"{shape.n_actions} actions"
    if shape.act_size:
        bounds = f"[{', '.join(f'{bound:g}' for bound in (*shape.act_low, *shape.act_high)[:8])}]"
        acts = f"actions of {shape.act_size} numbers, bounds {bounds}"
    return f"observations of {seen} and {acts}"


def _number(shape: Shape) -> str:
    return f"{shape.n_envs} environment{'s' if shape.n_envs > 1 else ''}"


def require_finite(agent: str, n_steps: int, rate: float, **values: float) -> None:
    """End a training whose numbers are no longer finite, before they reach the parameters.

    Ask between a gradient and the step of its optimiser: what was learned is kept.
    """
    for name, value in values.items():
        if not math.isfinite(value):
            raise Diverged(
                f"{agent}, step {n_steps:,}: the {name} is {value}, and was kept away from the "
                f"parameters: choose a learning rate below {rate:g}, or look for observations and "
                "rewards that are not finite."
            )


def require_numbered(agent: str, shape: Shape) -> None:
    if shape.n_actions < 1:
        raise SettingError(
            f"{agent} chooses among numbered actions, and these environments have none, but "
            "continuous ones: choose PPO, SAC or TD3."
        )


def require_continuous(agent: str, shape: Shape) -> None:
    if shape.act_size < 1:
        raise SettingError(
            f"{agent} chooses continuous actions, and these environments have none, but "
            f"{shape.n_actions} numbered ones: choose PPO, DQN or QR-DQN."
        )
    # Actions are computed in 32 bits: what is larger than those hold is no bound either.
    if not (np.abs(shape.act_low + shape.act_high) < np.finfo(np.float32).max).all():
        raise SettingError(f"{agent} needs finite bounds of actions: wrap the environment.")


def seeds_of(seed: int | None, n: int) -> list[int]:
    """Return `n` seeds for networks and replay from one."""
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(n, np.uint64)]


def in_parts(obs: Array, room: int, choose: Callable[[Array], Array]) -> Array:
    """Return actions for any number of rows by a network with room for `room`."""
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
