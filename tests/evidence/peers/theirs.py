"""The contestants of Stable-Baselines3; this module needs it, and torch."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, Final

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import Logger

from rl_impls.agents.evaluation import evaluate
from tests.evidence.peers import hyper
from tests.evidence.peers.measured import Measured, rate_of
from tests.evidence.peers.ours import EVALUATION_SEED, GYMNASIUM, OBS_SIZE, OWN, judged_by
from tests.evidence.peers.sizes import Sizes


class Player:
    """Their model as our evaluation knows an agent."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def greedy(self, obs: Any) -> Any:
        scale = self.model.get_vec_normalize_env()
        seen = obs if scale is None else scale.normalize_obs(obs)
        return self.model.predict(seen, deterministic=True)[0]


class Watch:
    """A callback: validates now and then while the clock stands still, and keeps the best.

    As our own does, the last of equals.
    """

    def __init__(self, model: Any, every: int, score_of: Callable[[Player], float]) -> None:
        self.best, self.kept = -np.inf, model.policy.state_dict()
        self.paused_s = 0.0
        self._model, self._every, self._next = model, every, every
        self._score_of = score_of
        self._kept_scale = deepcopy(self._scale())

    def _scale(self) -> Any:
        """The moments of observations, where there are any."""
        env = self._model.get_vec_normalize_env()
        return None if env is None else env.obs_rms

    def restore_best(self) -> None:
        self._model.policy.load_state_dict(self.kept)
        if self._kept_scale is not None:
            self._model.get_vec_normalize_env().obs_rms = self._kept_scale

    def __call__(self, local: Any, shared: Any) -> bool:
        if self._model.num_timesteps >= self._next:
            self.judge()
        return True

    def judge(self) -> None:
        begin = time.process_time()
        self._next += self._every
        score = self._score_of(Player(self._model))
        if score >= self.best:
            self.best = score
            state = self._model.policy.state_dict()
            self.kept = {name: tensor.clone() for name, tensor in state.items()}
            self._kept_scale = deepcopy(self._scale())
        self.paused_s += time.process_time() - begin


def end_to_end(model: Any, n_steps: int, sizes: Sizes) -> Measured:
    watch = Watch(model, n_steps // sizes.n_validations, judged_by)
    begin = time.process_time()
    model.learn(n_steps, callback=watch)
    seconds = time.process_time() - begin - watch.paused_s
    watch.judge()
    watch.restore_best()
    played = evaluate(Player(model), OWN, sizes.episodes, seed=EVALUATION_SEED)
    return Measured(model.num_timesteps / seconds, float(played.mean()))


def ppo(sizes: Sizes, seed: int) -> Measured:
    ours = hyper.PPO
    env = make_vec_env(GYMNASIUM, hyper.N_ENVS, seed=seed)
    model = stable_baselines3.PPO(
        "MlpPolicy", env, seed=seed, device="cpu", n_steps=ours.horizon // hyper.N_ENVS,
        n_epochs=ours.n_epochs, batch_size=ours.minibatch, learning_rate=ours.learning_rate,
        gamma=ours.discount, gae_lambda=ours.trace, clip_range=ours.clip,
        ent_coef=ours.entropy_weight, vf_coef=ours.value_weight, max_grad_norm=ours.max_norm,
        policy_kwargs={"net_arch": list(ours.hidden)},
    )  # fmt: skip
    return end_to_end(model, sizes.ppo_steps, sizes)


def dqn_model(seed: int, n_steps: int, **changes: Any) -> Any:
    ours = hyper.DQN
    settings: dict[str, Any] = {
        "learning_rate": ours.learning_rate, "buffer_size": ours.buffer, "batch_size": ours.batch,
        "learning_starts": ours.learning_starts, "gamma": ours.discount,
        "train_freq": ours.update_every, "gradient_steps": ours.n_updates,
        "target_update_interval": ours.target_every, "max_grad_norm": ours.max_norm,
        "exploration_fraction": min(ours.epsilon_over / n_steps, 1.0),
        "exploration_initial_eps": ours.epsilon_start, "exploration_final_eps": ours.epsilon_end,
        "policy_kwargs": {"net_arch": list(ours.hidden)},
    }  # fmt: skip
    env = make_vec_env(GYMNASIUM, 1, seed=seed)
    return stable_baselines3.DQN("MlpPolicy", env, seed=seed, device="cpu", **settings | changes)


def dqn(sizes: Sizes, seed: int) -> Measured:
    return end_to_end(dqn_model(seed, sizes.dqn_steps), sizes.dqn_steps, sizes)


def updates(model: Any, n: int, batch_size: int) -> float:
    """After a first stretch that only fills the replay."""
    model.learn(999)
    model.set_logger(Logger(folder=None, output_formats=[]))
    return rate_of(lambda: model.train(gradient_steps=1, batch_size=batch_size), n)


def dqn_updates(sizes: Sizes, seed: int) -> Measured:
    model = dqn_model(seed, 999, learning_starts=10_000)
    return Measured(updates(model, sizes.dqn_updates, hyper.DQN.batch))


def sac_updates(sizes: Sizes, seed: int) -> Measured:
    ours = hyper.SAC
    model = stable_baselines3.SAC(
        "MlpPolicy", gymnasium.make("Pendulum-v1"), seed=seed, device="cpu", tau=ours.tau,
        learning_rate=ours.learning_rate, buffer_size=ours.buffer, batch_size=ours.batch,
        learning_starts=10_000, gamma=ours.discount, policy_kwargs={"net_arch": list(ours.hidden)},
    )  # fmt: skip
    return Measured(updates(model, sizes.sac_updates, ours.batch))


def sample(batch_size: int, sizes: Sizes, seed: int) -> Measured:
    box = gymnasium.spaces.Box(-np.inf, np.inf, (OBS_SIZE,), np.float32)
    replay = ReplayBuffer(sizes.n_stored, box, gymnasium.spaces.Discrete(2), device="cpu")
    rng = np.random.default_rng(seed)
    for _ in range(sizes.n_stored):
        obs, next_obs = rng.standard_normal((2, 1, OBS_SIZE), dtype=np.float32)
        replay.add(obs, next_obs, np.zeros(1, np.int64), np.ones(1), np.zeros(1), [{}])
    return Measured(rate_of(lambda: replay.sample(batch_size), sizes.samples))


THEIRS: Final[dict[str, Callable[[Sizes, int], Measured]]] = {
    "sb3 ppo": ppo,
    "sb3 dqn": dqn,
    "sb3 dqn updates": dqn_updates,
    "sb3 sac updates": sac_updates,
    "sb3 sample 32": partial(sample, 32),
    "sb3 sample 256": partial(sample, 256),
}


def measure(name: str, sizes: Sizes, seed: int) -> Measured:
    torch.set_num_threads(1)
    return THEIRS[name](sizes, seed)
