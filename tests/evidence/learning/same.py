"""``python -m tests.evidence.learning same``: how far both sides are apart after equal updates.

Equal first weights, batches and noise go to ours and to Stable-Baselines3: where both learn by the
same algorithm, both networks say the same afterwards, but for what rounding became. Returns of
trainings spread so widely that a mistake in an update could hide among them; here it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.utils import polyak_update

from rl_impls.agents.agent import AgentSettings, shape_of
from rl_impls.agents.dqn import DQN
from rl_impls.agents.ppo import PPO
from rl_impls.agents.qr_dqn import QRDQN
from rl_impls.agents.sac import SAC
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import ControlBatch
from rl_impls.nets.mlp import MLP
from rl_impls.registry import make_agent
from rl_impls.replay.layout import Transitions
from tests.evidence.learning.tasks import PENDULUM, SB3, TASKS, Task
from tests.evidence.learning.theirs import model_of

Rows = NDArray[Any]
# Of the others either the actions are not of this kind, or Stable-Baselines3 has not all of it.
KNOWN: Final = tuple(
    task.name
    for task in TASKS
    if task.agent in ("ppo", "dqn", "qr-dqn", "sac") and SB3 in task.sides
    and not task.note and (task.agent, task.env) != ("ppo", PENDULUM)
)  # fmt: skip
N_UPDATES: Final = 20
N_ROWS: Final = 4000


@dataclass(frozen=True, slots=True)
class Sides:
    """What both say of the same rows, after they learned from the same."""

    ours: Rows
    theirs: Rows

    @property
    def difference(self) -> float:
        """The greatest, of each output in its spread over the rows."""
        spread = self.theirs.std(axis=0)
        spread[spread < 1e-6] = 1.0  # the temperature, which is the same for all rows
        return float((np.abs(self.ours - self.theirs) / spread).max())


def sides_of(task: Task, settings: AgentSettings | None = None) -> Sides:
    """Both sides after some updates; `settings` are those of ours alone, to see that it matters."""
    assert task.settings is not None
    torch.set_num_threads(1)
    env = make_batch(task.env, task.n_envs, seed=0)
    theirs = model_of(task, 0)
    theirs.set_logger(Logger(folder=None, output_formats=[]))
    ours = make_agent(shape_of(env), settings or task.settings, seed=0)
    match ours:
        case DQN():
            return of_dqn(ours, theirs, env)
        case SAC():
            return of_sac(ours, theirs, env)
        case PPO():
            return of_ppo(ours, theirs, env)
        case _:
            raise ValueError(f"nothing is known of {task.agent} at Stable-Baselines3")


def of_dqn(ours: DQN, theirs: Any, env: ControlBatch) -> Sides:
    named = "quantile_net" if isinstance(ours, QRDQN) else "q_net"
    net, slow = (getattr(theirs.policy, name) for name in (named, f"{named}_target"))
    # Theirs has the quantiles of an action far apart, ours side by side.
    assert isinstance(ours.net, MLP)
    order = np.arange(ours.net.sizes[-1]).reshape(-1, env.n_actions).T.ravel()
    copy_to(ours.net, layers_of(net.modules()), order)
    ours.target.params[:] = ours.net.params
    experience = played(env)
    for k, rows in enumerate(batches_of(experience, ours.settings.batch)):
        with patch.object(ours.replay, "sample", lambda rows=rows: rows):
            ours.update()
        with patch.object(theirs.replay_buffer, "sample", partial(samples, rows)):
            theirs.train(1, len(rows))
        if k == N_UPDATES // 2:
            ours._follow()
            polyak_update(net.parameters(), slow.parameters(), 1.0)
    rows = first_of(experience, ours.settings.batch)
    said = net(torch.from_numpy(rows.obs_tm1)).detach().numpy().reshape(len(rows), -1)
    return Sides(ours.net.forward(rows.obs_tm1).copy(), said[:, order])


def of_sac(ours: SAC, theirs: Any, env: ControlBatch) -> Sides:
    actor, critics = theirs.policy.actor, theirs.policy.critic.q_networks
    heads = zip(*layers_of([actor.mu, actor.log_std]), strict=True)
    weight, bias = (torch.cat(pair) for pair in heads)
    copy_to(ours.actor, [*layers_of(actor.latent_pi), (weight, bias)])
    for mine, net in zip((*ours.critics, *ours.targets), (*critics, *critics), strict=True):
        copy_to(mine, layers_of(net))
    experience = played(env)
    rng = np.random.default_rng(1)
    for rows in batches_of(experience, ours.settings.batch):
        of_actor, of_critics = rng.standard_normal((2, *rows.a_tm1.shape), dtype=np.float32)
        with (
            patch.object(ours.replay, "sample", lambda rows=rows: rows),
            # Each side draws for one part of an update first, and for the other then.
            patch("rl_impls.agents.sac.standard_normal", given(of_critics, of_actor)),
        ):
            ours.update()
        drawn = iter(torch.from_numpy(noise) for noise in (of_actor, of_critics))
        with (
            patch.object(theirs.replay_buffer, "sample", partial(samples, rows)),
            patch.object(
                torch.distributions.Normal, "rsample",
                lambda by, shape=None, drawn=drawn: by.loc + by.scale * next(drawn),
            ),
        ):  # fmt: skip
            theirs.train(1, len(rows))
    rows = first_of(experience, ours.settings.batch)
    obs, actions = torch.from_numpy(rows.obs_tm1), torch.from_numpy(rows.a_tm1)
    means, log_stds, _ = actor.get_action_dist_params(obs)
    values = theirs.policy.critic(obs, actions)
    temperature = theirs.log_ent_coef.expand(len(rows), 1)
    said = torch.cat([means, log_stds, *values, temperature], dim=1).detach().numpy()
    x = np.concatenate([rows.obs_tm1, rows.a_tm1], axis=1)
    of_ours = [ours.actor.forward(rows.obs_tm1), *(critic.forward(x) for critic in ours.critics)]
    own_temperature = np.full((len(rows), 1), ours.log_alpha[0])
    return Sides(np.concatenate([*of_ours, own_temperature], axis=1), said)


def of_ppo(ours: PPO, theirs: Any, env: ControlBatch) -> Sides:
    """A round of learning from the same steps, in the same order, ends of all kinds among them."""
    policy, buffer = theirs.policy, theirs.rollout_buffer
    extractor = policy.mlp_extractor
    assert isinstance(ours.actor, MLP)
    copy_to(ours.actor, layers_of([*extractor.policy_net, policy.action_net]))
    copy_to(ours.critic, layers_of([*extractor.value_net, policy.value_net]))
    n_steps, n_envs = buffer.buffer_size, env.n_envs
    # Theirs lie environment by environment: the same order of steps by other numbers.
    order = np.arange(n_steps * n_envs).reshape(n_envs, n_steps).T.ravel()
    rng = np.random.default_rng(1)
    began = np.ones(n_envs, np.bool_)
    with (
        patch("rl_impls.agents.ppo.shuffle", lambda *_: None),
        patch("numpy.random.permutation", lambda n: order),
    ):
        for _ in range(n_steps):
            obs = env.obs.copy()
            actions = ours.act(obs).copy()
            step = env.step(actions)
            step = step._replace(truncated=step.truncated | (rng.random(n_envs) < 0.02))
            with torch.no_grad():
                values, log_probs, _ = policy.evaluate_actions(
                    torch.from_numpy(obs), torch.from_numpy(actions)
                )
                after, last = (
                    policy.predict_values(torch.from_numpy(seen))
                    for seen in (step.obs_t, step.next_obs)
                )
            # As theirs does where an episode's time is up.
            cut = step.truncated & ~step.terminated
            rewards = step.r_t + np.where(cut, theirs.gamma * after.numpy()[:, 0], 0.0)
            buffer.add(obs, actions[:, None], rewards, began, values, log_probs)
            began = step.terminated | step.truncated
            ours.observe(step)
        buffer.compute_returns_and_advantage(last, began)
        theirs.train()
    seen = buffer.observations.reshape(-1, env.obs_size)[: ours.settings.minibatch]
    with torch.no_grad():
        latent_pi, latent_v = extractor(torch.from_numpy(seen))
        said = torch.cat([policy.action_net(latent_pi), policy.value_net(latent_v)], dim=1)
    of_ours = [ours.actor.forward(seen), ours.critic.forward(seen)]
    return Sides(np.concatenate(of_ours, axis=1), said.numpy())


def played(env: ControlBatch) -> Transitions:
    """Transitions of random actions; of numbers between -1 and 1, as both sides keep them."""
    rng = np.random.default_rng(0)
    kept: list[tuple[Rows, ...]] = []
    for _ in range(N_ROWS // env.n_envs):
        if env.n_actions:
            actions = rng.integers(env.n_actions, size=env.n_envs)
            step = env.step(actions)
        else:
            actions = rng.uniform(-1.0, 1.0, (env.n_envs, env.act_size)).astype(np.float32)
            low, high = env.act_low, env.act_high
            step = env.step((low + high) / 2 + (high - low) / 2 * actions)
        # Few episodes end in so few steps: some more, so that it matters.
        terminated = step.terminated | (rng.random(env.n_envs) < 0.05)
        kept.append((step.obs_tm1.copy(), actions, step.r_t.copy(), step.obs_t.copy(), terminated))
    return Transitions(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def batches_of(experience: Transitions, size: int) -> Iterator[Transitions]:
    rng = np.random.default_rng(2)
    for _ in range(N_UPDATES):
        rows = rng.integers(len(experience), size=size)
        yield Transitions(*(column[rows] for column in experience.arrays()))


def first_of(experience: Transitions, size: int) -> Transitions:
    return Transitions(*(column[:size] for column in experience.arrays()))


def samples(rows: Transitions, size: int, env: Any = None) -> ReplayBufferSamples:
    """The same rows as theirs has them."""
    actions = rows.a_tm1 if rows.a_tm1.ndim == 2 else rows.a_tm1[:, None]
    columns = (
        rows.obs_tm1, actions, rows.obs_t, rows.terminated_t[:, None].astype(np.float32),
        rows.r_t[:, None],
    )  # fmt: skip
    return ReplayBufferSamples(*map(torch.from_numpy, columns))


def given(*noises: Rows) -> Callable[..., None]:
    """Stand in for `standard_normal`, with these numbers one call after another."""
    waiting = iter(noises)

    def draw(chance: Any, stream: int, out: Rows) -> None:
        out[...] = next(waiting)

    return draw


Linear = tuple[torch.Tensor, torch.Tensor]


def layers_of(modules: Iterable[Any]) -> list[Linear]:
    return [(m.weight, m.bias) for m in modules if isinstance(m, torch.nn.Linear)]


def copy_to(net: MLP, layers: Sequence[Linear], order: Rows | None = None) -> None:
    """Give a network of ours the weights of theirs; `order` is that of the outputs."""
    for mine, bias, layer in zip(net.weights, net.biases, layers, strict=True):
        mine[:] = layer[0].detach().numpy().T
        bias[:] = layer[1].detach().numpy()
    if order is not None:
        net.weights[-1][:] = net.weights[-1][:, order]
        net.biases[-1][:] = net.biases[-1][order]
