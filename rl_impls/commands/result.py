"""The result of a training, as data and for people, with how well it plays by then."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

from rl_impls.errors import SettingError
from rl_impls.runtimes import Facts, MakeEnv, Progress
from rl_impls.tabular import QLearner
from rl_impls.tabular.training import evaluate

STDOUT: Final = "-"
GAMES: Final = 10_000
# Without a model, games are played one after another.
GAMES_WITHOUT_MODEL: Final = 100


@dataclass(frozen=True, slots=True)
class Speed:
    """The work done and the time of training it took; compiling and playing are left out."""

    steps: int
    seconds: float
    steps_per_s: float
    episodes: int

    @classmethod
    def of(cls, progress: Progress) -> Self:
        done = progress.done
        return cls(done.steps, progress.seconds, progress.steps_per_s, done.episodes)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The games that were played greedily after training, and what they earned."""

    games: int
    mean_return: float
    win_rate: float | None = None  # only where a game is won or lost
    loss_rate: float | None = None

    @classmethod
    def of_table(cls, env_name: str, learner: QLearner, make_env: MakeEnv) -> Self:
        """Let the learner play on an environment of its own, with chance of its own."""
        env = make_env(seed=0)
        played = evaluate(learner, env, GAMES_WITHOUT_MODEL if env.model is None else GAMES)
        if not env_name.startswith("TicTacToe-"):
            return cls(played.episodes, played.mean_return)
        return cls(played.episodes, played.mean_return, played.win_rate, played.loss_rate)


@dataclass(frozen=True, slots=True)
class ActorDetails:
    """Figures of actors and a learner; see `runtimes.actor_learner.learner.Trained`."""

    preset: str | None
    drops: int
    waiting_s: float
    blocked_s: float
    mean_lag: float
    most_lag: float


@dataclass(frozen=True, slots=True)
class MpiDetails:
    """Figures of all ranks of an MPI job together; counts are those of this job alone."""

    ranks: int
    ranks_lost: int  # that were killed, and without which the others went on
    resumed_steps: int  # that the checkpoint had, from which it went on
    compression: str | None  # None: a runtime that sends its table as it is
    syncs: int
    bytes_sent: int
    sync_seconds: float  # of the rank that spent most on exchanging, waiting included
    sync_period: int  # steps of a rank between two exchanges at the end, on average


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that a training tells; the JSON holds its parts side by side."""

    env: str
    agent: str
    backend: str | None  # what a deep agent's updates were computed with
    seed: int
    speed: Speed
    outcome: Outcome
    peak_rss_bytes: int  # the sum over all processes
    facts: Facts
    details: ActorDetails | MpiDetails | None = None

    def as_data(self) -> dict[str, Any]:
        """Return what the JSON holds."""
        data = {
            "env": self.env,
            "agent": self.agent,
            "backend": self.backend,
            "seed": self.seed,
            **asdict(self.speed),
            **asdict(self.outcome),
            "peak_rss_bytes": self.peak_rss_bytes,
            **asdict(self.facts),
        }
        return data if self.details is None else data | asdict(self.details)


def field_names(details: type[ActorDetails | MpiDetails] | None = None) -> list[str]:
    """Return the names that the JSON has, with such details or without."""
    parts = [Speed, Outcome, Facts, *([] if details is None else [details])]
    return [
        *("env", "agent", "backend", "seed", "peak_rss_bytes"),
        *(field.name for part in parts for field in fields(part)),
    ]


def render(result: Result) -> str:
    """Return two lines or three for people."""
    speed, outcome = result.speed, result.outcome
    text = (
        f"{speed.steps:,} steps in {speed.seconds:.3f} s: {speed.steps_per_s:,.0f} steps/s, "
        f"{speed.episodes:,} episodes, {result.peak_rss_bytes / 1e6:.0f} MB\n"
        f"{outcome.games:,} greedy games: mean return {outcome.mean_return:.3f}"
    )
    if isinstance(result.details, ActorDetails):
        text += (
            f"\n{result.details.drops:,} rows dropped, actors blocked for "
            f"{result.details.blocked_s:.3f} s, weights {result.details.mean_lag:.0f} updates "
            f"behind (at most {result.details.most_lag:.0f})"
        )
    if outcome.win_rate is not None and outcome.loss_rate is not None:
        text += f", won {outcome.win_rate:.1%}, lost {outcome.loss_rate:.1%}"
    return text


def publish(result: Result, target: str | None) -> None:
    """Print the result, and write it as JSON where a target is named; `-` prints nothing else."""
    data = json.dumps(result.as_data(), indent=2)
    if target == STDOUT:
        print(data, flush=True)
        return
    if target is not None:
        try:
            Path(target).write_text(data + "\n", encoding="utf-8")
        except OSError as error:
            raise SettingError(
                f"the result cannot be written to {target} ({error.strerror}): name another file."
            ) from error
    print(render(result), flush=True)
