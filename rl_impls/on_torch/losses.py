"""The losses of `agents.q_kernels` and `agents.ppo_kernels`, for torch to differentiate."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.nn import functional

Network = Callable[[torch.Tensor], torch.Tensor]


class QBatch(NamedTuple):
    obs_tm1: torch.Tensor
    a_tm1: torch.Tensor
    r_t: torch.Tensor
    obs_t: torch.Tensor
    terminated_t: torch.Tensor


def q_loss(
    net: Network, target: Network, batch: QBatch, *, discount: float, huber: float, double: bool
) -> torch.Tensor:
    """The mean Huber loss of (double) Q-learning; see `agents.q_kernels.q_loss`."""
    with torch.no_grad():
        q_t = target(batch.obs_t)
        best = (net(batch.obs_t) if double else q_t).argmax(dim=1, keepdim=True)
        follows = discount * q_t.gather(1, best).float().squeeze(1)
        goal = batch.r_t + torch.where(batch.terminated_t, 0.0, follows)
    q_tm1 = net(batch.obs_tm1).gather(1, batch.a_tm1.unsqueeze(1)).squeeze(1)
    return functional.huber_loss(q_tm1.float(), goal, delta=huber)


def policy_loss(
    logits: torch.Tensor,
    a_tm1: torch.Tensor,
    old_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    clip: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The clipped surrogate and the mean entropy; see `agents.ppo_kernels.clipped_policy_loss`."""
    log_probs = torch.log_softmax(logits, dim=1)
    chosen = log_probs.gather(1, a_tm1.unsqueeze(1)).squeeze(1)
    ratio = torch.exp(chosen - old_log_probs)
    bounded = torch.clamp(ratio, 1.0 - clip, 1.0 + clip)
    surrogate = torch.minimum(ratio * advantages, bounded * advantages).mean()
    entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
    return -surrogate, entropy


def normalised(advantages: torch.Tensor) -> torch.Tensor:
    """With mean 0 and deviation 1; of one row alone, 0."""
    centred = advantages - advantages.mean()
    deviation = torch.sqrt((centred**2).sum() / max(len(advantages) - 1, 1))
    return centred / (deviation + 1e-8)
