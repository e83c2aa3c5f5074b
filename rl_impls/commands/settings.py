"""The settings of agents and learners as words of a command line: what there is, and `--set`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from rl_impls import registry
from rl_impls.agents.agent import AgentSettings
from rl_impls.errors import SettingError
from rl_impls.schedules import Constant, Exponential, Linear, Schedule
from rl_impls.tabular.learner import Settings

Chosen = TypeVar("Chosen", bound=AgentSettings | Settings)

MEANINGS: Final[dict[str, str]] = {
    "accumulate": "batches whose gradients are added up for one update",
    "actor_every": "updates of the critics to one of the actor",
    "alpha": "the first temperature, the weight of entropy",
    "batch": "transitions an update learns from",
    "beta_over": "steps until the weights of prioritised rows are whole",
    "buffer": "transitions that the replay holds",
    "clip": "how far the ratio of probabilities may move from 1 and still count",
    "discount": "what a reward is worth a step later",
    "dueling": "values of states and advantages of actions in streams of their own",
    "double": "the learning network chooses the action, the target network values it",
    "epsilon": "the probability of a random action",
    "epsilon_end": "the probability of a random action at the end",
    "epsilon_over": "steps from the first to the last of it, in a straight line",
    "epsilon_start": "the probability of a random action at first",
    "entropy_weight": "weight of the entropy of actions in the loss",
    "hidden": "units of each hidden layer, as 64,64",
    "horizon": "steps of all environments together between two rounds of learning",
    "huber": "the error from which on the loss grows in a straight line",
    "learning_rate": "of the optimiser, or of the table",
    "learning_starts": "steps before the first update",
    "linear_over": "steps until the learning rate is 0, in a straight line; 0: constant",
    "max_norm": "the largest norm of a gradient",
    "minibatch": "steps an update learns from",
    "n_epochs": "times that a round learns from each of its steps",
    "n_quantiles": "quantiles of the return of each action",
    "n_step": "rewards that are added up before values bootstrap",
    "n_updates": "updates whenever it is time for one",
    "noise": "deviation of the noise of actions that are taken, for actions between -1 and 1",
    "normalise_obs": "bring observations to one scale by what was seen so far",
    "normalise_rewards": "divide rewards by the deviation of their discounted sums so far",
    "prioritised": "draw transitions by their last error",
    "priority_alpha": "how much errors count in that; 0: not at all",
    "priority_beta": "the first weight that makes up for it",
    "stack": "frames that are seen together",
    "target_clip": "the largest size of that noise",
    "target_every": "steps between two copies of the network to its target",
    "target_noise": "deviation of the noise of actions that values bootstrap from",
    "tau": "how far the target networks follow at each update",
    "trace": "lambda of the advantages",
    "update_every": "steps of all environments together from one update to the next",
    "value_weight": "weight of the critic's loss",
}
# Names that other libraries have for the same.
ALSO_CALLED: Final[dict[str, tuple[str, ...]]] = {
    "batch_size": ("batch", "minibatch"),
    "buffer_size": ("buffer",),
    "clip_range": ("clip",),
    "ent_coef": ("entropy_weight",),
    "exploration_final_eps": ("epsilon_end",),
    "exploration_initial_eps": ("epsilon_start",),
    "gae_lambda": ("trace",),
    "gamma": ("discount",),
    "gradient_steps": ("n_updates",),
    "lr": ("learning_rate",),
    "max_grad_norm": ("max_norm",),
    "n_steps": ("n_step",),
    "net_arch": ("hidden",),
    "policy_delay": ("actor_every",),
    "target_noise_clip": ("target_clip",),
    "target_policy_noise": ("target_noise",),
    "target_update_interval": ("target_every",),
    "train_freq": ("update_every",),
    "vf_coef": ("value_weight",),
}
_SCHEDULES: Final[dict[str, type[Schedule]]] = {
    kind.__name__: kind for kind in (Constant, Linear, Exponential)
}


@dataclass(frozen=True, slots=True)
class KnownSetting:
    """A setting as `list` tells of it."""

    name: str
    default: str
    meaning: str


def known_settings(agent: str) -> Iterator[KnownSetting]:
    """Yield every setting of an agent or a learner, in their order."""
    defaults = default_settings(agent)
    for field in fields(defaults):
        value = getattr(defaults, field.name)
        yield KnownSetting(field.name, written(value), MEANINGS.get(field.name, ""))


def default_settings(agent: str) -> AgentSettings | Settings:
    return registry.settings_type(agent)() if agent in registry.AGENTS else Settings()


def changed(settings: Chosen, words: Iterable[str], agent: str) -> Chosen:
    """Return settings with each `NAME=VALUE` put in; the last of one name counts."""
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise SettingError(f"--set {word} has no value: write NAME=VALUE, as discount=0.99.")
        name = _known(name.strip(), settings, agent)
        values[name] = _read(name, text.strip(), getattr(settings, name))
    return replace(settings, **values)


def _known(name: str, settings: AgentSettings | Settings, agent: str) -> str:
    names = [field.name for field in fields(settings)]
    if name in names:
        return name
    for other in ALSO_CALLED.get(name, ()):
        if other in names:
            return other
    elsewhere = [other for other, ours in ALSO_CALLED.items() if {*ours} & {*names}]
    close = get_close_matches(name, [*names, *elsewhere], n=1, cutoff=0.6)
    meant = f"did you mean {close[0]}? " if close else ""
    raise SettingError(
        f"{agent} has no setting {name!r}: {meant}python -m rl_impls list {agent} names them all."
    )


def _read(name: str, text: str, now: object) -> object:
    """Read a value of the same kind as the one that it replaces."""
    read, wanted = _READERS[next(kind for kind in _READERS if isinstance(now, kind))]
    try:
        return read(text)
    except SettingError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise SettingError(f"{name} is {wanted}, and not {text!r}: correct it.") from error


def _flag(text: str) -> bool:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
        text.lower()
    ]


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)  # 1e6 is a whole number too
        if not number.is_integer():
            raise
        return int(number)


def _widths(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.split(r"[,x ]+", text.strip("()[] ,")))


def _schedule(text: str) -> Schedule:
    """Read a number, or what Python would: Linear(1.0, 0.05, 400_000, "step")."""
    call = re.fullmatch(r"(\w+)\((.*)\)", text)
    if call is None:
        return Constant(float(text))
    arguments = [part.strip().strip("\"'") for part in call[2].split(",")]
    return _SCHEDULES[call[1]](*(_argument(part) for part in arguments))


def _argument(text: str) -> Any:
    if text in ("step", "episode"):
        return text
    number = float(text)
    return int(number) if number.is_integer() and "." not in text else number


# By the kind of the value there is; a bool is an int too, and comes first.
_READERS: Final[dict[type | tuple[type, ...], tuple[Callable[[str], object], str]]] = {
    bool: (_flag, "true or false"),
    int: (_whole, "a whole number"),
    float: (float, "a number"),
    tuple: (_widths, "whole numbers with commas between, as 64,64"),
    object: (
        _schedule,
        "a number, or Linear(start, end, over, per) or Exponential(start, decay, minimum, per) "
        "with step or episode for per",
    ),
}


def written(value: object) -> str:
    """Return a value as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, Constant):
        return f"{value.value:g}"
    if isinstance(value, Linear | Exponential):
        arguments = ", ".join(str(getattr(value, each.name)) for each in fields(value))
        return f"{type(value).__name__}({arguments})"
    return f"{value:,}".replace(",", "_") if isinstance(value, int) else f"{value:g}"
