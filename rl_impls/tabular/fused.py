"""Playing and learning in one loop, for a table in lists and a model's rules.

It does what `training.train` does with a ListQLearning, draw by draw and digit by digit, without
the calls in between; and it looks at a row once, for the target and for the next choice. The table
is *closed*: entries of illegal actions hold minus infinity, so that the plain maximum of a row is
the maximum over the legal actions.
"""

from __future__ import annotations

from math import inf

from rl_impls.envs.model import DRAW_BITS, Model
from rl_impls.envs.tabular import TabularEnv
from rl_impls.tabular.lists import ListQLearning
from rl_impls.tabular.training import Training, Visits


def close(q: list[list[float]], model: Model) -> None:
    """Put minus infinity where no action is legal; a state without any is never looked at."""
    for row, legal in zip(q, model.legal, strict=True):
        if 0 < len(legal) < len(row):
            for a in set(range(len(row))).difference(legal):
                row[a] = -inf


def train(
    learner: ListQLearning, env: TabularEnv, model: Model, n_steps: int, visits: Visits
) -> Training:
    q, legal, step = learner.q, model.legal, model.step
    random, draw = learner.chance.random, env.chance.getrandbits
    discount, counts_steps = learner.settings.discount, learner.counts_steps
    alpha, epsilon = learner.alpha, learner.epsilon
    n_episodes = 0
    reward_sum = 0.0
    s_tm1 = env.state if env.running else env.reset()[0]
    running = True
    row = q[s_tm1]
    best = max(row)
    for _ in range(n_steps):
        if not running:
            s_tm1 = model.reset(draw(DRAW_BITS))
            row = q[s_tm1]
            best = max(row)
        if random() < epsilon:
            choices = legal[s_tm1]
            a_tm1 = choices[int(random() * len(choices))]
        else:
            a_tm1 = row.index(best)
        s_t, r_t, terminated = step(s_tm1, a_tm1, draw(DRAW_BITS))
        if visits is not None:
            visits[s_tm1, a_tm1] += 1
        reward_sum += r_t
        if terminated:
            row[a_tm1] += alpha * (r_t - row[a_tm1])
            running = False
            n_episodes += 1
            learner.end_episodes()
            alpha, epsilon = learner.alpha, learner.epsilon
        else:
            row_t = q[s_t]
            best = max(row_t)
            row[a_tm1] += alpha * (r_t + discount * best - row[a_tm1])
            if row_t is row:
                best = max(row)  # the update changed this very row
            row = row_t
            running = True
        s_tm1 = s_t
        if counts_steps:
            learner.count_steps()
            alpha, epsilon = learner.alpha, learner.epsilon
    if not counts_steps:
        learner.count_steps(n_steps)
    env.place(s_tm1, running=running)
    return Training(n_steps, n_episodes, reward_sum)
