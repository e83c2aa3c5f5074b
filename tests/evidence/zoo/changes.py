"""Changes of `rl_impls`, each as a text that takes the place of another: mistakes that people make,
other draws of the same skill, and refactorings that change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product


class Kind(StrEnum):
    BUG = "bug"
    DRAWS = "draws"  # another order of the same random numbers
    REFACTORING = "refactoring"


@dataclass(frozen=True, slots=True)
class Change:
    """A change, and the gate that is asked about it: a part of the name of a test."""

    kind: Kind
    name: str
    gate: str
    file: str  # below rl_impls
    old: str
    new: str

    @property
    def title(self) -> str:
        return f"{self.name} ({self.gate})"


PPO, ROLLOUT = "agents/ppo.py", "agents/rollout.py"
DQN, QR_DQN, SAC = "agents/dqn.py", "agents/qr_dqn.py", "agents/sac.py"
TWINS = "agents/twin_critics.py"
LISTS, ARRAYS, REPLAY = "tabular/lists.py", "tabular/arrays.py", "replay/uniform.py"
AGENT, SPLITMIX = "agents/agent.py", "splitmix.py"
LEARNER, KERNELS, GAMES = "tabular/learner.py", "tabular/kernels.py", "envs/games.py"
ON_DQN, ON_QR, ON_SAC = "test_dqn_learns", "test_qr_dqn", "test_sac"
ON_PPO, ON_LONG_PPO = "test_ppo_plays", "test_ppo_learns"
ON_DOORS, ON_DQN_DOORS = "test_ppo_opens", "test_dqn_opens"
ON_LIST, ON_COMPILED = "test_a_table_learns and list", "test_a_table_learns and compiled"
ON_TAXI = "test_taxi"
GATES = (
    *(ON_PPO, ON_LONG_PPO, ON_DOORS, ON_DQN, ON_DQN_DOORS, ON_QR, ON_SAC),
    *(ON_LIST, ON_COMPILED, ON_TAXI),
)

_BUGS = (
    (
        "wrong sign of the advantage in the clip", ON_PPO, ROLLOUT,
        "push = advantage * ratio if ratio * advantage <= bounded * advantage else 0.0",
        "push = advantage * ratio if ratio * advantage >= bounded * advantage else 0.0",
    ),
    (
        "advantages not normalised", ON_PPO, ROLLOUT,
        "to_advantages[i] = (advantages[row] - mean) * scale",
        "to_advantages[i] = advantages[row]",
    ),
    (
        "wrong sign of the entropy, weight 0.1", ON_PPO, ROLLOUT,
        "+ entropy_weight * prob * (log_prob + entropy)",
        "- 10 * entropy_weight * prob * (log_prob + entropy)",
    ),
    (
        "advantages flow across episodes", ON_DOORS, ROLLOUT,
        "            if ended_t[t, row]:\n                advantage = 0.0\n",
        "",
    ),
    (
        "values bootstrap from terminated episodes", ON_LONG_PPO, ROLLOUT,
        "follows = 0.0 if terminated_t[t, row] else discount * v_t[t, row]",
        "follows = discount * v_t[t, row]",
    ),
    (
        "returns without the value", ON_LONG_PPO, ROLLOUT,
        "to_returns[i] = advantages[row] + values[row]",
        "to_returns[i] = advantages[row]",
    ),
    (
        "learning rate times 10", ON_LONG_PPO, PPO,
        "return Constant(self.learning_rate, \"step\")",
        "return Constant(10 * self.learning_rate, \"step\")",
    ),
    (
        "one step off: actions of the step before", ON_PPO, ROLLOUT,
        "to_actions[i] = actions[row]",
        "to_actions[i] = actions[row - 1]",
    ),
    (
        "stale observation after a reset", ON_DOORS, AGENT,
        "        obs = step.next_obs\n",
        "        obs = step.obs_t\n",
    ),
    (
        "the gradient of the values is not averaged", ON_LONG_PPO,
        ROLLOUT,
        "grad[i, 0] = 2.0 * weight * error / n",
        "grad[i, 0] = 2.0 * weight * error",
    ),
    (
        "wrong sign of the values' gradient", ON_LONG_PPO, ROLLOUT,
        "grad[i, 0] = 2.0 * weight * error / n",
        "grad[i, 0] = -2.0 * weight * error / n",
    ),
    (
        "the target network never follows", ON_DQN, DQN,
        "            self._follow()\n",
        "            pass\n",
    ),
    (
        "values bootstrap from terminated episodes", ON_DQN, DQN,
        "        follows = 0.0 if terminated_t[i] else discount * q_t[i, best_t[i]]\n"
        "        error = q_tm1[i, a_tm1[i]] - (r_t[i] + follows)\n"
        "        bounded = min(max(error, -huber), huber)\n"
        "        loss += bounded * (error - 0.5 * bounded)\n",
        "        follows = discount * q_t[i, best_t[i]]\n"
        "        error = q_tm1[i, a_tm1[i]] - (r_t[i] + follows)\n"
        "        bounded = min(max(error, -huber), huber)\n"
        "        loss += bounded * (error - 0.5 * bounded)\n",
    ),
    (
        "epsilon never decays", ON_DQN, DQN,
        "return self._epsilon.at(self.n_steps)",
        "return self._epsilon.at(0)",
    ),
    (
        "one row off in the replay: actions of the next step", ON_DQN, REPLAY,
        "store.a_tm1[slot] = a_tm1",
        "store.a_tm1[slot - 1] = a_tm1",
    ),
    (
        "learning rate times 10", ON_DQN, DQN,
        "return Adam(self.net.params, self.net.grads, rate=self.settings.learning_rate)",
        "return Adam(self.net.params, self.net.grads, rate=10 * self.settings.learning_rate)",
    ),
    (
        "values bootstrap from where the step began", ON_DQN, DQN,
        "        q_t = self.target.forward(batch.obs_t)\n",
        "        q_t = self.target.forward(batch.obs_tm1)\n",
    ),
    (
        "no discount", ON_DQN, DQN,
        "batch.terminated_t, self.settings.bootstrap, self.settings.huber, self._grad,",
        "batch.terminated_t, 1.0, self.settings.huber, self._grad,",
    ),
    (
        "the gradient has the wrong sign beyond the bound", ON_DQN, DQN,
        "        grad[i, a_tm1[i]] = bounded / n\n    return float(loss / n)\n\n\n@compiled\n"
        "def weighted_q_loss",
        "        grad[i, a_tm1[i]] = (bounded if bounded == error else -bounded) / n\n"
        "    return float(loss / n)\n\n\n@compiled\ndef weighted_q_loss",
    ),
    (
        "quantiles of another action", ON_QR, QR_DQN,
        "total += z[i, j * m + k]",
        "total += z[i, k * n_actions + j]",
    ),
    (
        "the target network never follows", ON_QR, DQN,
        "            self._follow()\n",
        "            pass\n",
    ),
    (
        "epsilon never decays", ON_QR, DQN,
        "return self._epsilon.at(self.n_steps)",
        "return self._epsilon.at(0)",
    ),
    (
        "values bootstrap from terminated episodes", ON_QR, QR_DQN,
        "keep = zero if terminated_t[i] else gamma",
        "keep = gamma",
    ),
    (
        "actions not stretched to their bounds", ON_SAC, TWINS,
        "stretched: Array = self._middle + self._half * squashed",
        "stretched: Array = self._middle + squashed",
    ),
    (
        "wrong sign of the temperature's gradient", ON_SAC, SAC,
        "self._alpha_grad[0] = -(self._log_probs.mean() + self.target_entropy)",
        "self._alpha_grad[0] = self._log_probs.mean() + self.target_entropy",
    ),
    (
        "rewards clipped to 1", ON_SAC, REPLAY,
        "store.r_t[slot] = r_t",
        "store.r_t[slot] = max(-1.0, min(1.0, r_t))",
    ),
    (
        "the target networks never follow", ON_SAC, TWINS,
        "            polyak.step()\n",
        "            pass\n",
    ),
    (
        "no correction for the squashing", ON_SAC, SAC,
        "log_prob -= 0.5 * eps * eps + log_std + _HALF_LOG_2_PI + log_slope",
        "log_prob -= 0.5 * eps * eps + log_std + _HALF_LOG_2_PI",
    ),
    (
        "truncated is taken for terminated", ON_SAC, REPLAY,
        "step.obs_t[0], step.terminated[0])",
        "step.obs_t[0], step.terminated[0] or step.truncated[0])",
    ),
    (
        "one row off: rewards of the next step", ON_DQN_DOORS, REPLAY,
        "store.r_t[slot] = r_t",
        "store.r_t[slot - 1] = r_t",
    ),
    (
        "the worst action bootstraps", ON_LIST, LISTS,
        "return max(row if legal is None else [row[a] for a in legal], default=0.0)",
        "return min(row if legal is None else [row[a] for a in legal], default=0.0)",
    ),
    (
        "the table learns its target's sign reversed", ON_LIST, LISTS,
        "row[a_tm1] += self.alpha * (target - row[a_tm1])",
        "row[a_tm1] += self.alpha * (row[a_tm1] - target)",
    ),
    (
        "the error is not taken from the value that is there", ON_COMPILED, KERNELS,
        "value += np.float32(rate) * (target - value)",
        "value += np.float32(rate) * target",
    ),
    (
        "only where an episode ended is anything learned", ON_COMPILED, KERNELS,
        "                target += gamma * q[np.uint64(s_t), a_best]\n",
        "                target += np.float32(0.0)\n",
    ),
    (
        "the error is not taken from the value that is there", ON_TAXI, LISTS,
        "row[a_tm1] += alpha * (target - row[a_tm1])",
        "row[a_tm1] += alpha * target",
    ),
    (
        "only where an episode ended is anything learned", ON_TAXI, LISTS,
        "                target += discount * row_t[a_best]\n",
        "                target += 0.0\n",
    ),
)  # fmt: skip

DEEP = (ON_PPO, ON_LONG_PPO, ON_DQN, ON_QR, ON_SAC)
TABLES = (ON_LIST, ON_COMPILED, ON_TAXI)
_REFACTORED = (
    (
        "a name", DEEP, AGENT,
        "    start = agent.n_steps\n    goal = start + n_steps\n",
        "    begun_at = start = agent.n_steps\n    goal = begun_at + n_steps\n",
    ),
    (
        "a helper", DEEP, AGENT,
        "        step = env.step(agent.act(obs))\n",
        "        actions = agent.act(obs)\n        step = env.step(actions)\n",
    ),
    (
        "another module imported", (*DEEP, ON_COMPILED), SPLITMIX,
        "import numpy as np\n",
        "import math\n\nimport numpy as np\n\nassert math.pi > 3\n",
    ),
    (
        "two lines change places", (*DEEP, ON_COMPILED), SPLITMIX,
        "_UNIT: Final = 2.0**-53\n_MASK_64: Final = (1 << 64) - 1\n",
        "_MASK_64: Final = (1 << 64) - 1\n_UNIT: Final = 2.0**-53\n",
    ),
    (
        "a check more", (ON_DQN, ON_SAC), REPLAY,
        "        slot = self.n_added % self.capacity\n",
        "        assert self.capacity > 0\n        slot = self.n_added % self.capacity\n",
    ),
    (
        "one line instead of two", (ON_DQN, ON_QR), DQN,
        "        before = self.n_steps\n        self.n_steps = now = before + n\n",
        "        before, now = self.n_steps, self.n_steps + n\n        self.n_steps = now\n",
    ),
    (
        "two counters change places", (ON_PPO,), PPO,
        "        rollout.t += 1\n        self.n_steps += self.shape.n_envs\n",
        "        self.n_steps += self.shape.n_envs\n        rollout.t += 1\n",
    ),
    (
        "a comprehension", (ON_SAC,), TWINS,
        "        for polyak in self._polyaks:\n            polyak.step()\n",
        "        _ = [polyak.step() for polyak in self._polyaks]\n",
    ),
    (
        "an expression instead of a branch", (ON_LIST,), LISTS,
        "        target = r_t\n        if not terminated:\n"
        "            target += self._discount * best_value(self.q[s_t], legal_t)\n",
        "        follows = 0.0 if terminated else best_value(self.q[s_t], legal_t)\n"
        "        target = r_t + self._discount * follows\n",
    ),
    (
        "a name", (ON_LIST,), LISTS,
        "        row = self.q[s_tm1]\n"
        "        row[a_tm1] += self.alpha * (target - row[a_tm1])\n",
        "        values = self.q[s_tm1]\n"
        "        values[a_tm1] += self.alpha * (target - values[a_tm1])\n",
    ),
    (
        "a helper", (ON_COMPILED,), KERNELS,
        "            value += np.float32(rate) * (target - value)\n",
        "            missing = target - value\n            value += np.float32(rate) * missing\n",
    ),
    (
        "a check more", TABLES, GAMES,
        "        wide = draws.astype(np.int64)\n",
        "        assert len(draws) >= 0\n        wide = draws.astype(np.int64)\n",
    ),
    (
        "one line instead of two", TABLES, LEARNER,
        "        self.n_steps = 0\n        self.n_episodes = 0\n        self.adopted",
        "        self.n_steps = self.n_episodes = 0\n        self.adopted",
    ),
)  # fmt: skip
# Tables and networks do not share their random numbers.
_DRAWN_BY_TABLES = (LEARNER, "self.chance = random.Random(seed)")
_DRAWN_BY_NETWORKS = (SPLITMIX, "first = mixed(np.array([seed & _MASK_64], np.uint64))")
ROUNDS = 10
"""Of other draws: for each of the gates, so that there are a hundred verdicts."""


def changes() -> Iterator[Change]:
    """Yield all of them, in the order in which they are tried."""
    for name, gate, file, old, new in _BUGS:
        yield Change(Kind.BUG, name, gate, file, old, new)
    for name, gates, file, old, new in _REFACTORED:
        for gate in gates:
            yield Change(Kind.REFACTORING, name, gate, file, old, new)
    for number, gate in product(range(1, ROUNDS + 1), GATES):
        file, old = _DRAWN_BY_TABLES if gate in TABLES else _DRAWN_BY_NETWORKS
        new = old.replace("seed", f"(seed + {number} * 1_000_003)")
        yield Change(Kind.DRAWS, f"draws {number}", gate, file, old, new)
