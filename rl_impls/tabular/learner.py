"""The part that every learner of a Q-table shares (Watkins & Dayan, 1992; Sutton & Barto, eq. 6.8).

    q[s_tm1, a_tm1] += alpha * (r_t + discount * max_a q[s_t, a] - q[s_tm1, a_tm1])

The maximum runs over the legal actions of `s_t`; after a terminated transition, and where nothing
is legal, there is no future and it is 0. Only `terminated` cuts it: a truncated episode was cut by
the clock, and its last transition bootstraps like any other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from rl_impls.archive import Format, counted
from rl_impls.envs.model import Actions, Flags, Model, States
from rl_impls.envs.tabular import Legal, TabularEnv
from rl_impls.errors import SettingError, TableFileError
from rl_impls.schedules import Constant, Exponential, Linear, Schedule
from rl_impls.tabular import training
from rl_impls.tabular.training import TableTransitions, Training, Visits

CHANGES: Final = 100  # of a schedule, in a training that it lasts for
_KINDS: Final = {kind.__name__: kind for kind in (Constant, Linear, Exponential)}


@dataclass(frozen=True, slots=True)
class Settings:
    """The hyper-parameters: learning rate 0.3; exploration from 1 by 0.999 an episode down to 0.05;
    discount 0.95."""

    learning_rate: Schedule = field(default_factory=lambda: Constant(0.3))
    epsilon: Schedule = field(default_factory=lambda: Exponential(1.0, 0.999, 0.05, "episode"))
    discount: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 <= self.discount <= 1.0:
            raise SettingError(f"discount lies between 0 and 1, not at {self.discount}.")

    def as_data(self) -> dict[str, Any]:
        """Return the settings as JSON can hold them."""
        return {
            "learning_rate": _schedule_as_data(self.learning_rate),
            "epsilon": _schedule_as_data(self.epsilon),
            "discount": self.discount,
        }

    @classmethod
    def for_training(cls, n_steps: int) -> Self:
        """Return settings for a training of so many steps.

        It explores for three fifths of them, since rewards may be far and seldom, and takes steps
        that become small, since what follows an action may be chance.
        """
        n, stride = max(n_steps, 1), max(n_steps // CHANGES, 1)
        return cls(
            learning_rate=Linear(0.5, 0.03, n, "step", stride),
            epsilon=Linear(1.0, 0.1, -(-n * 3 // 5), "step", stride),
            discount=0.99,
        )

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        return cls(
            learning_rate=_schedule_from_data(data["learning_rate"]),
            epsilon=_schedule_from_data(data["epsilon"]),
            discount=data["discount"],
        )


def _schedule_as_data(schedule: Schedule) -> dict[str, Any]:
    if type(schedule).__name__ not in _KINDS:
        raise SettingError(
            f"a {type(schedule).__name__} schedule cannot be saved: use {', '.join(_KINDS)}."
        )
    return {"kind": type(schedule).__name__, **asdict(schedule)}  # type: ignore[call-overload]


def _schedule_from_data(data: dict[str, Any]) -> Schedule:
    arguments = dict(data)
    return _KINDS[arguments.pop("kind")](**arguments)


# Version 1: header {version, learner, n_states, n_actions, n_steps, n_episodes, settings, chance},
# arrays `states` and `rows`, of the states whose row holds something.
_FORMAT: Final = Format(
    what="table",
    version=1,
    error=TableFileError,
    unwritten=": choose another place.",
    remedy="name a file that a learner's save() wrote.",
)


def _check_rows(n_states: int, n_actions: int, states: Any, rows: Any) -> None:
    if states.dtype.kind not in "iu" or rows.dtype.kind != "f":
        raise ValueError(f"states are {states.dtype}, and rows {rows.dtype}")
    if states.ndim != 1 or rows.shape != (len(states), n_actions):
        raise ValueError(f"rows of shape {rows.shape} for {len(states)} states")
    if len(states) and not 0 <= states.min() <= states.max() < n_states:
        raise ValueError(f"states beyond the {n_states} of its table")
    if not (np.abs(rows) <= np.finfo(np.float32).max).all():  # nor is what no table can hold
        raise ValueError("values that are not finite")


DEFAULTS: Final = Settings()


class QLearner:
    """Acts epsilon-greedily on a table of action values and learns it from transitions.

    A greedy choice is the first of equals. Learners with equal seeds that learn at every step act
    alike, whatever holds their table. What holds it is the subclass's: `greedy`, `learn`, `table`
    and `set_table`.
    """

    name: ClassVar[str]
    most_entries: ClassVar[int] = 2**48
    """Of a table that is loaded: a file says how many there are, and holds few of them."""

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        settings: Settings = DEFAULTS,
        seed: int | None = None,
    ) -> None:
        if n_states < 1 or n_actions < 1:
            raise SettingError(f"a table needs states and actions, not {n_states} and {n_actions}.")
        self.n_states: Final = n_states
        self.n_actions: Final = n_actions
        self.settings: Final = settings
        self.n_steps = 0
        self.n_episodes = 0
        self.adopted: Model | None = None
        self.chance = random.Random(seed)
        self._every_action: Final = tuple(range(n_actions))
        strides = [
            each.stride if isinstance(each, Linear) else 1
            for each in (settings.learning_rate, settings.epsilon)
            if each.per == "step"
        ]
        self.counts_steps: Final = 1 in strides
        # Both change at multiples of it, and at every episode those that count these.
        self._stride: Final = 0 if self.counts_steps else math.gcd(*strides)
        self._discount: Final = settings.discount
        self._refresh()

    # Acting

    def act(self, s_t: int, legal_t: Legal = None) -> int:
        """Choose any legal action with probability epsilon, otherwise the best one."""
        if self.chance.random() < self.epsilon:
            choices = self._legal_in(s_t) if legal_t is None else legal_t
            return choices[int(self.chance.random() * len(choices))]
        return self.greedy(s_t, legal_t)

    def _legal_in(self, s_t: int) -> tuple[int, ...]:
        return self._every_action if self.adopted is None else self.adopted.legal[s_t]

    def greedy(self, s_t: int, legal_t: Legal = None) -> int:
        """Return the best legal action, the first of equals."""
        raise NotImplementedError

    def act_batch(self, s_t: States, masks_t: Flags | None = None) -> Actions:
        """Choose by `act` for each row; a mask holds the legal actions of each."""
        legal = _legal_rows(masks_t, len(s_t))
        rows = zip(s_t.tolist(), legal, strict=True)
        return np.fromiter((self.act(s, legal_t) for s, legal_t in rows), np.int64, len(s_t))

    # Learning

    def learn(
        self,
        s_tm1: int,
        a_tm1: int,
        r_t: float,
        s_t: int,
        *,
        terminated: bool,
        legal_t: Legal = None,
    ) -> None:
        """Move one entry towards its target. `legal_t` are the legal actions of `s_t`."""
        raise NotImplementedError

    def learn_batch(self, batch: TableTransitions) -> None:
        """Learn the rows in order, each from the table that the rows before it left."""
        legal = _legal_rows(batch.masks_t, len(batch))
        columns = (batch.s_tm1, batch.a_tm1, batch.r_t, batch.s_t, batch.terminated)
        rows = zip(*(column.tolist() for column in columns), legal, strict=True)
        for s_tm1, a_tm1, r_t, s_t, terminated, legal_t in rows:
            self.learn(s_tm1, a_tm1, r_t, s_t, terminated=terminated, legal_t=legal_t)

    def end_episodes(self, n: int = 1) -> None:
        """Count ended episodes: schedules that count per episode go on."""
        self.n_episodes += n
        self._refresh()

    def flush(self) -> None:
        """Learn what is held back; only learners that collect transitions hold any."""

    def adopt(self, model: Model) -> bool:
        """Take over a model's masks, if this learner can; then it need not be told any more."""
        return False

    # Training

    def train_episode(self, env: TabularEnv) -> Training:
        """Play and learn to the end of one episode: the running one, or else a new one."""
        return training.train(self, env, episodes=1)

    def train(self, env: TabularEnv, n_steps: int, *, visits: Visits = None) -> Training:
        """Play and learn for exactly `n_steps` steps, from where the environment stands.

        `visits`, an array of the table's shape, counts how often each pair was learned.
        """
        return training.train(self, env, steps=n_steps, visits=visits)

    # The table

    def table(self) -> NDArray[np.float32]:
        """Return a copy of the table, (n_states, n_actions), with what was held back learned."""
        raise NotImplementedError

    def set_table(self, table: NDArray[Any]) -> None:
        """Replace every entry."""
        raise NotImplementedError

    def rows(self) -> tuple[States, NDArray[Any]]:
        """Return the states whose row is not all zero, and their rows: the table for a file."""
        table = self.table()
        states = np.flatnonzero(table.any(axis=1))
        return states, table[states]

    def set_rows(self, states: States, rows: NDArray[Any]) -> None:
        """Take over what `rows` returned."""
        table = np.zeros((self.n_states, self.n_actions), rows.dtype)
        table[states] = rows
        self.set_table(table)

    def entries(self, states: States, actions: Actions) -> NDArray[np.float64]:
        """Return the values of these pairs. Of pairs that were learned only: others may hold
        anything."""
        raise NotImplementedError

    def set_entries(self, states: States, actions: Actions, values: NDArray[Any]) -> None:
        """Replace the values of these pairs, which are legal ones."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write all that is needed to go on: the file is whole or not there."""
        self.flush()
        states, rows = self.rows()
        header = {
            "learner": self.name,
            "n_states": self.n_states,
            "n_actions": self.n_actions,
            "n_steps": self.n_steps,
            "n_episodes": self.n_episodes,
            "settings": self.settings.as_data(),
            "chance": self.chance_state(),
        }
        _FORMAT.write(Path(path), header, {"states": states, "rows": rows})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Go on where a learner, of this kind or another, was saved."""
        header, arrays = _FORMAT.read(Path(path))
        with _FORMAT.restoring(Path(path)):
            n_states, n_actions, *progress = counted(
                header, "n_states", "n_actions", "n_steps", "n_episodes"
            )
            settings = Settings.from_data(header["settings"])
            _check_rows(n_states, n_actions, arrays["states"], arrays["rows"])
            if n_states * n_actions > cls.most_entries:
                raise ValueError(f"a table of {n_states:,} states is beyond this learner")
            learner = cls(n_states, n_actions, settings=settings)
            learner.set_rows(arrays["states"], arrays["rows"])
            learner.set_progress(*progress)
            if header["learner"] == cls.name:
                learner.set_chance_state(header["chance"])
        return learner

    def chance_state(self) -> Any:
        """Return the state of the random numbers, as JSON can hold it."""
        version, numbers, gauss = self.chance.getstate()
        return [version, list(numbers), gauss]

    def set_chance_state(self, state: Any) -> None:
        version, numbers, gauss = state
        self.chance.setstate((version, tuple(numbers), gauss))

    # Schedules

    def set_progress(self, n_steps: int, n_episodes: int) -> None:
        self.n_steps = n_steps
        self.n_episodes = n_episodes
        self._refresh()

    def count_steps(self, n: int = 1) -> None:
        """Count learned steps: schedules that count per step go on."""
        self.n_steps += n
        if self.counts_steps or self.n_steps >= self._changes_at:
            self._refresh()

    def legs(self, n_steps: int) -> Iterator[int]:
        """Yield the next stretches of steps in which no schedule of strides changes, one at least:
        who makes them without `count_steps` sets the progress in between."""
        while True:
            leg = int(min(n_steps, self._changes_at - self.n_steps))
            yield leg
            n_steps -= leg
            if n_steps <= 0:
                break

    def _refresh(self) -> None:
        stride = self._stride
        self._changes_at = self.n_steps + stride - self.n_steps % stride if stride else math.inf
        alpha, epsilon = self.settings.learning_rate, self.settings.epsilon
        self.alpha = alpha.at(self.n_steps if alpha.per == "step" else self.n_episodes)
        self.epsilon = epsilon.at(self.n_steps if epsilon.per == "step" else self.n_episodes)


def _legal_rows(masks: Flags | None, n: int) -> list[Legal]:
    if masks is None:
        return [None] * n
    return [tuple(np.flatnonzero(mask).tolist()) for mask in masks]
