"""Q-learning in compiled code: whole training loops, and single calls on rows.

The tables they work on are *closed*: the entry of an action that is not legal holds minus infinity,
so that the plain maximum of a row is the maximum over the legal actions.

Rules come from `envs.compiled`: the type of a model's tables chooses them while a loop compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rl_impls import splitmix
from rl_impls.envs import compiled as rules
from rl_impls.envs.compiled import has_rules, reset_state, step_state
from rl_impls.envs.model import Actions, Flags, Rewards, States
from rl_impls.jit import compiled, inlined, version_of
from rl_impls.splitmix import GAMMA, mixed
from rl_impls.tabular import rows
from rl_impls.tabular.rows import LANES, any_in, best_with

__all__ = ["act_rows", "has_rules", "learn_rows", "merge_table", "train"]

Table = NDArray[np.float32]

_LOW_32: Final = np.uint64(0xFFFFFFFF)
_S32: Final = np.uint64(32)
DRAWS: Final = 4294967296.0
# Most of a table is as it was. So many entries are looked at together, in vector instructions.
GROUP: Final = 8


@inlined
def best_of(q: Any, s: Any) -> tuple[int, Any]:
    """Return the best action of a row, the first of equals, and its value."""
    action = 0
    value = q[s, 0]
    for a in range(1, q.shape[1]):
        if q[s, a] > value:
            value = q[s, a]
            action = a
    return action, value


@inlined
def best_masked(q: Any, s: Any, masks: Any, row: int) -> tuple[int, Any]:
    """Return the best of the actions that a row of masks allows, and its value; minus infinity
    where it allows none."""
    action = 0
    value = np.float32(-np.inf)
    for a in range(q.shape[1]):
        if masks[row, a] and q[s, a] > value:
            value = q[s, a]
            action = a
    return action, value


@inlined
def any_of(masks: Any, row: int, draw: Any) -> int:
    """Return an action that a row of masks allows, each as likely as the others."""
    skip = draw * masks[row].sum() >> 32
    for a in range(masks.shape[1]):
        if masks[row, a]:
            if skip == 0:
                return a
            skip -= 1
    return 0


@inlined
def any_legal(q: Any, s: Any, draw: Any) -> int:
    """Return a legal action, each as likely as the others."""
    n_legal = 0
    for a in range(q.shape[1]):
        if q[s, a] != -np.inf:
            n_legal += 1
    skip = draw * n_legal >> 32
    for a in range(q.shape[1]):
        if q[s, a] != -np.inf:
            if skip == 0:
                return a
            skip -= 1
    return 0


@inlined
def advanced(value: Any, course: Any) -> Any:
    """Return the next value of a schedule; see `schedules.Course`."""
    return min(max(value * course.factor + course.slope, course.low), course.high)


def make_train(version: int) -> Callable[..., Any]:
    """Make the training loop; `version` is that of the rules it will be compiled with."""

    @compiled
    def train(
        tables: Any,
        q: Table,
        kept: NDArray[np.uint64],
        age: Any,
        visits: NDArray[np.uint32] | None,
        trace: NDArray[np.float64] | None,
        rng: NDArray[np.uint64],
        n_steps: int,
        start: int,
        discount: float,
        alpha: Any,
        epsilon: Any,
    ) -> tuple[int, int, bool, float]:
        """Train for `n_steps` steps from state `start`, or from a new episode where it is -1.

        `kept` holds each row's best action plus `age`; what is older lies below. So nothing on the
        way from one state to the next waits for a maximum: a row is looked through when it is
        written, and the next steps go on meanwhile. `age` is a multiple of the number of actions,
        greater in every call: in between, anybody may write to the table.

        Returns (state, episodes, whether one is running, sum of rewards).
        """
        _ = version
        counter = rng[0]
        n_episodes = 0
        rewards = 0.0
        rate = alpha.value
        explore = epsilon.value
        limit = np.uint64(explore * DRAWS)
        gamma = np.float32(discount)
        n_actions = np.uint64(q.shape[1])
        s_tm1: Any = np.int64(start)
        a_tm1: Any = np.int64(0)
        terminated = s_tm1 < 0
        for i in range(n_steps):
            if terminated:
                counter += GAMMA
                s_tm1 = np.int64(reset_state(tables, np.int64(mixed(counter) >> _S32)))
            counter += GAMMA
            bits = mixed(counter)
            if bits & _LOW_32 < limit:
                counter += GAMMA
                draw: Any = np.int64(mixed(counter) >> _S32)
                a_tm1 = any_in(q, s_tm1, draw) if n_actions <= LANES else any_legal(q, s_tm1, draw)
            else:
                a_tm1 = np.int64(kept[np.uint64(s_tm1)] - age)
                if np.uint64(a_tm1) >= n_actions:
                    a_tm1, _value = best_of(q, s_tm1)
            s_t, r_t, terminated = step_state(tables, s_tm1, a_tm1, np.int64(bits >> _S32))
            target = np.float32(r_t)
            if not terminated:
                a_best = kept[np.uint64(s_t)] - age
                if a_best >= n_actions:
                    a_next, _value = best_of(q, s_t)
                    a_best = np.uint64(a_next)
                    kept[np.uint64(s_t)] = age + a_best
                target += gamma * q[np.uint64(s_t), a_best]
            value = q[np.uint64(s_tm1), np.uint64(a_tm1)]
            value += np.float32(rate) * (target - value)
            if n_actions <= LANES:
                best = best_with(q, s_tm1, a_tm1, value)
                q[np.uint64(s_tm1), np.uint64(a_tm1)] = value
            else:
                q[np.uint64(s_tm1), np.uint64(a_tm1)] = value
                best, _value = best_of(q, s_tm1)
            kept[np.uint64(s_tm1)] = age + np.uint64(best)
            if visits is not None:
                visits[s_tm1, a_tm1] += np.uint32(1)
            if trace is not None:
                trace[i, 0] = s_tm1
                trace[i, 1] = a_tm1
                trace[i, 2] = r_t
                trace[i, 3] = s_t
                trace[i, 4] = terminated
            if alpha.per_step:
                rate = advanced(rate, alpha)
            if epsilon.per_step:
                explore = advanced(explore, epsilon)
                limit = np.uint64(explore * DRAWS)
            rewards += r_t
            if terminated:
                n_episodes += 1
                if not alpha.per_step:
                    rate = advanced(rate, alpha)
                if not epsilon.per_step:
                    explore = advanced(explore, epsilon)
                    limit = np.uint64(explore * DRAWS)
            s_tm1 = s_t
        rng[0] = counter
        return s_tm1, n_episodes, not terminated, rewards

    return train


train = make_train(version_of(rules, splitmix, rows))


@compiled
def act_rows(
    q: Table,
    masks: Flags | None,
    s_t: States,
    epsilon: float,
    rng: NDArray[np.uint64],
    actions: Actions,
) -> None:
    """Choose an epsilon-greedy action for each row."""
    limit = np.uint64(epsilon * DRAWS)
    counter = rng[0]
    for row in range(len(s_t)):
        counter += GAMMA
        bits = mixed(counter)
        explores = bits & _LOW_32 < limit
        draw = np.int64(bits >> _S32)
        if masks is None:
            if explores:
                actions[row] = any_legal(q, s_t[row], draw)
            else:
                actions[row], _value = best_of(q, s_t[row])
        elif explores:
            actions[row] = any_of(masks, row, draw)
        else:
            actions[row], _value = best_masked(q, s_t[row], masks, row)
    rng[0] = counter


@compiled
def learn_rows(
    q: Table,
    s_tm1: States,
    a_tm1: Actions,
    r_t: Rewards,
    s_t: States,
    terminated: Flags,
    masks: Flags | None,
    alphas: NDArray[np.float64],
    discount: float,
) -> None:
    """Learn the rows one after another."""
    gamma = np.float32(discount)
    for row in range(len(s_tm1)):
        target = r_t[row]
        if not terminated[row]:
            if masks is None:
                _action, best = best_of(q, s_t[row])
            else:
                _action, best = best_masked(q, s_t[row], masks, row)
            if best != -np.inf:
                target += gamma * best
        entry = q[s_tm1[row], a_tm1[row]]
        q[s_tm1[row], a_tm1[row]] = entry + np.float32(alphas[row]) * (target - entry)


@compiled
def merge_table(
    q: NDArray[np.float32],
    n: NDArray[np.uint32],
    seen: NDArray[np.uint32],
    q_own: NDArray[np.float32],
    q_seen: NDArray[np.float32],
    visits: NDArray[np.uint32],
    steps_per_visit: int,
) -> None:
    """Merge every entry that differs from `q_seen`, take over what others learned, count anew.

    `visits` counts a part of the steps, one of `steps_per_visit`. All arrays are flat.
    """
    n_pairs = len(n)
    for start in range(0, n_pairs, GROUP):
        end = min(start + GROUP, n_pairs)
        if end - start == GROUP:
            news = False
            for i in range(GROUP):
                pair = start + i
                news |= (q_own[pair] != q_seen[pair]) | (n[pair] != seen[pair])
            if not news:
                continue
        for pair in range(start, end):
            n_others = np.uint32(n[pair] - seen[pair])
            if q_own[pair] != q_seen[pair]:
                n_own = 1 + steps_per_visit * np.int64(visits[pair])
                if n_others > 0:
                    weight = n_own / (n_own + np.float64(n_others))
                    q_own[pair] = weight * q_own[pair] + (1.0 - weight) * q[pair]
                q[pair] = q_own[pair]
                n[pair] += np.uint32(n_own)
            elif n_others > 0:
                q_own[pair] = q[pair]
            else:
                continue
            visits[pair] = 0
            q_seen[pair] = q_own[pair]
            seen[pair] = n[pair]
