"""Chance in compiled code: actions for all environments at once, noise, and shuffled rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rl_impls.jit import compiled
from rl_impls.splitmix import GAMMA, unit


@compiled
def epsilon_greedy(q: Any, chance: Any, stream: int, epsilon: float, actions: Any) -> None:
    """A random action with probability epsilon, else argmax_a q(a), the first of equal ones.

    Draws two numbers a row in any case: where the stream stands depends on the count alone.
    """
    n_actions = q.shape[1]
    counter = chance[stream]
    for row in range(len(q)):
        counter += GAMMA
        explores = unit(counter) < epsilon
        counter += GAMMA
        best = 0
        for j in range(1, n_actions):
            if q[row, j] > q[row, best]:
                best = j
        actions[row] = np.int64(unit(counter) * n_actions) if explores else best
    chance[stream] = counter


@compiled
def sample_categorical(logits: Any, chance: Any, stream: int, actions: Any, log_probs: Any) -> None:
    """a ~ softmax(logits), and log pi(a)."""
    n_actions = logits.shape[1]
    counter = chance[stream]
    for row in range(len(logits)):
        most = logits[row, 0]
        for j in range(1, n_actions):
            most = max(most, logits[row, j])
        total = 0.0
        for j in range(n_actions):
            total += math.exp(logits[row, j] - most)
        counter += GAMMA
        mark = unit(counter) * total
        chosen = 0
        mark -= math.exp(logits[row, 0] - most)
        while mark >= 0.0 and chosen < n_actions - 1:
            chosen += 1
            mark -= math.exp(logits[row, chosen] - most)
        actions[row] = chosen
        log_probs[row] = logits[row, chosen] - most - math.log(total)
    chance[stream] = counter


@compiled
def standard_normal(chance: Any, stream: int, out: Any) -> None:
    """Independent numbers from N(0, 1), by the polar coordinates of two uniform ones
    (Box & Muller, 1958)."""
    flat = out.ravel()
    counter = chance[stream]
    for i in range(0, len(flat), 2):
        counter += GAMMA
        # 1 - u lies in (0, 1]: its logarithm is finite.
        radius = math.sqrt(-2.0 * math.log(1.0 - unit(counter)))
        counter += GAMMA
        angle = 2.0 * math.pi * unit(counter)
        flat[i] = radius * math.cos(angle)
        if i + 1 < len(flat):
            flat[i + 1] = radius * math.sin(angle)
    chance[stream] = counter


@compiled
def shuffle(order: Any, chance: Any, stream: int) -> None:
    """Every order with the same probability (Durstenfeld, 1964)."""
    counter = chance[stream]
    for i in range(len(order) - 1, 0, -1):
        counter += GAMMA
        j = np.int64(unit(counter) * (i + 1))
        order[i], order[j] = order[j], order[i]
    chance[stream] = counter


@compiled
def uniform_between(chance: Any, stream: int, low: float, high: float, out: Any) -> None:
    flat = out.ravel()
    counter = chance[stream]
    for i in range(len(flat)):
        counter += GAMMA
        flat[i] = low + (high - low) * unit(counter)
    chance[stream] = counter
