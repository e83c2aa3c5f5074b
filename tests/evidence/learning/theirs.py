"""The side of Stable-Baselines3 and sb3-contrib; this module needs them, and torch."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import stable_baselines3
import torch
from sb3_contrib import QRDQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from rl_impls.agents.dqn import DQNSettings
from rl_impls.agents.ppo import PPOSettings
from rl_impls.agents.qr_dqn import QRDQNSettings
from rl_impls.agents.sac import SACSettings
from rl_impls.agents.td3 import TD3Settings
from rl_impls.agents.twin_critics import TwinSettings
from tests.evidence.learning.played import N_VALIDATIONS, Played, judged, validated
from tests.evidence.learning.tasks import Task
from tests.evidence.peers.theirs import Player, Watch


def play(task: Task, seed: int) -> Played:
    torch.set_num_threads(1)
    model = model_of(task, seed)
    watch = Watch(model, task.steps // N_VALIDATIONS, partial(validated, env=task.env))
    begin = time.process_time()
    model.learn(task.steps, callback=watch)
    seconds = time.process_time() - begin - watch.paused_s
    watch.judge()
    final = judged(Player(model), task.env)
    watch.restore_best()
    return Played(final, judged(Player(model), task.env), seconds)


def model_of(task: Task, seed: int) -> Any:
    env = make_vec_env(task.env, task.n_envs, seed=seed)
    settings = task.settings
    assert settings is not None
    shared: dict[str, Any] = {
        "seed": seed, "device": "cpu", "learning_rate": settings.learning_rate,
        "gamma": settings.discount,
    }  # fmt: skip
    nets: dict[str, Any] = {"net_arch": list(settings.hidden)}
    match settings:
        case PPOSettings():
            env = on_one_scale(env, settings)
            return stable_baselines3.PPO(
                "MlpPolicy", env, n_steps=settings.horizon // task.n_envs,
                n_epochs=settings.n_epochs, batch_size=settings.minibatch,
                gae_lambda=settings.trace, clip_range=settings.clip,
                ent_coef=settings.entropy_weight, vf_coef=settings.value_weight,
                max_grad_norm=settings.max_norm, policy_kwargs=nets, **shared,
            )  # fmt: skip
        case QRDQNSettings():
            nets["n_quantiles"] = settings.n_quantiles
            return QRDQN("MlpPolicy", env, **of_dqn(settings, task.steps, nets), **shared)
        case DQNSettings():
            return stable_baselines3.DQN(
                "MlpPolicy", env, **of_dqn(settings, task.steps, nets), **shared
            )
        case SACSettings():
            return stable_baselines3.SAC("MlpPolicy", env, **of_twins(settings, nets), **shared)
        case TD3Settings():
            size = env.action_space.shape
            noise = NormalActionNoise(np.zeros(size), np.full(size, settings.noise))
            return stable_baselines3.TD3(
                "MlpPolicy", env, policy_delay=settings.actor_every, action_noise=noise,
                target_policy_noise=settings.target_noise,
                target_noise_clip=settings.target_clip, **of_twins(settings, nets), **shared,
            )  # fmt: skip
        case _:
            raise ValueError(f"Stable-Baselines3 has no {task.agent}")


def on_one_scale(env: VecEnv, settings: PPOSettings) -> VecEnv:
    if not (settings.normalise_obs or settings.normalise_rewards):
        return env
    return VecNormalize(
        env, norm_obs=settings.normalise_obs, norm_reward=settings.normalise_rewards,
        gamma=settings.discount,
    )  # fmt: skip


def several_steps(settings: DQNSettings) -> dict[str, Any]:
    return {"n_steps": settings.n_step} if settings.n_step > 1 else {}


def of_twins(settings: TwinSettings, nets: dict[str, Any]) -> dict[str, Any]:
    return {
        "buffer_size": settings.buffer, "batch_size": settings.batch,
        "learning_starts": settings.learning_starts, "tau": settings.tau,
        "gradient_steps": settings.n_updates, "policy_kwargs": nets,
    }  # fmt: skip


def of_dqn(settings: DQNSettings, n_steps: int, nets: dict[str, Any]) -> dict[str, Any]:
    return {
        "buffer_size": settings.buffer, "batch_size": settings.batch,
        "learning_starts": settings.learning_starts, "train_freq": settings.update_every,
        "gradient_steps": settings.n_updates, "target_update_interval": settings.target_every,
        "max_grad_norm": settings.max_norm, **several_steps(settings),
        "exploration_fraction": min(settings.epsilon_over / n_steps, 1.0),
        "exploration_initial_eps": settings.epsilon_start,
        "exploration_final_eps": settings.epsilon_end, "policy_kwargs": nets,
    }  # fmt: skip
