"""Figures of a running pipeline in two lines, and what is wrong with them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts since the beginning; rates and means since the last report."""

    processed: int  # rows that reached the replay
    batches: int  # in which they did
    drops: int
    buffer: int  # transitions in the replay
    queue: int  # rows that wait in the rings
    loss: float
    td_error: float
    mean_return: float  # of the episodes that ended; NaN without any
    epsilon: float
    lag: float  # updates that the actors' weights are behind the learner's, on the mean of actors
    rows_per_s: float
    waiting: float  # the part of its time that the learner slept for want of rows
    blocked: float  # the part of their time that the actors slept for want of room


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on a report warns."""

    most_drops: float = 0.001  # of all rows
    most_waiting: float = 0.5
    most_lag: float = 1_000.0  # updates


def render(metrics: Metrics) -> str:
    """Two lines for people."""
    returns = "-" if math.isnan(metrics.mean_return) else f"{metrics.mean_return:.1f}"
    td_error = "-" if math.isnan(metrics.td_error) else f"{metrics.td_error:.4f}"
    return (
        f"Processed {metrics.processed:,}, Batches {metrics.batches:,}, "
        f"Drops {metrics.drops:,}, Buffer {metrics.buffer:,}, Queue {metrics.queue:,}\n"
        f"Loss {metrics.loss:.4f}, TD error {td_error}, Return {returns}, "
        f"Epsilon {metrics.epsilon:.3f}, Lag {metrics.lag:.0f}"
    )


def warnings_of(metrics: Metrics, limits: Limits) -> list[str]:
    """What is beyond its limit, and what to do."""
    found = []
    made = metrics.processed + metrics.drops
    if made and metrics.drops / made > limits.most_drops:
        found.append(
            f"{metrics.drops / made:.1%} of all rows were dropped: learn more seldom, "
            "take fewer actors, or let a full ring wait."
        )
    if metrics.waiting > limits.most_waiting:
        found.append(
            f"experience comes slower than it is learned from, and the learner waited "
            f"{metrics.waiting:.0%} of the time: take more actors."
        )
    if metrics.lag > limits.most_lag:
        found.append(
            f"actors are {metrics.lag:.0f} updates behind: lower publish_interval, "
            "sync_interval or capacity."
        )
    return found
