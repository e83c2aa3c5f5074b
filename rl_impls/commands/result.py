"""What a training tells at its end, as data and for people."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rl_impls.errors import SettingError
from rl_impls.runtimes import Progress

STDOUT: Final = "-"


@dataclass(frozen=True, slots=True)
class Result:
    """What the JSON holds. Times are those of training: compiling and playing are left out."""

    env: str
    agent: str
    backend: str | None  # what a deep agent's updates were computed with
    seed: int
    steps: int
    seconds: float
    steps_per_s: float
    episodes: int
    games: int  # played greedily after training; the next three are their outcome
    mean_return: float
    win_rate: float | None  # only where a game is won or lost
    loss_rate: float | None
    peak_rss_bytes: int  # the sum over all processes
    runtime: str
    processes: int
    steps_per_sync: int | None
    cores: tuple[int, ...]
    threads: int | None


@dataclass(frozen=True, slots=True)
class PipelineResult(Result):
    """Of actors and a learner; see `pipeline.learner.Trained`."""

    preset: str | None
    drops: int
    waiting_s: float
    blocked_s: float
    mean_lag: float
    most_lag: float


@dataclass(frozen=True, slots=True)
class MpiResult(Result):
    """Of all ranks of an MPI job together. Steps and times are those of this job alone."""

    ranks: int
    ranks_lost: int  # that were killed, and without which the others went on
    resumed_steps: int  # that the checkpoint had, from which it went on
    compression: str | None  # None: a runtime that sends its table as it is
    syncs: int
    bytes_sent: int
    sync_seconds: float  # of the rank that spent most on exchanging, waiting included
    sync_period: int  # steps of a rank between two exchanges at the end, on average


def speed_of(progress: Progress) -> dict[str, Any]:
    """The fields that come from the training itself."""
    return {
        "steps": progress.done.steps,
        "seconds": progress.seconds,
        "steps_per_s": progress.steps_per_s,
        "episodes": progress.done.episodes,
    }


def render(result: Result) -> str:
    """For people."""
    text = (
        f"{result.steps:,} steps in {result.seconds:.3f} s: {result.steps_per_s:,.0f} steps/s, "
        f"{result.episodes:,} episodes, {result.peak_rss_bytes / 1e6:.0f} MB\n"
        f"{result.games:,} greedy games: mean return {result.mean_return:.3f}"
    )
    if isinstance(result, PipelineResult):
        text += (
            f"\n{result.drops:,} rows dropped, actors blocked for {result.blocked_s:.3f} s, "
            f"weights {result.mean_lag:.0f} updates behind (at most {result.most_lag:.0f})"
        )
    if result.win_rate is not None and result.loss_rate is not None:
        text += f", won {result.win_rate:.1%}, lost {result.loss_rate:.1%}"
    return text


def publish(result: Result, target: str | None) -> None:
    data = json.dumps(asdict(result), indent=2)
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
