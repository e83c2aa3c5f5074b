"""Many transitions at once."""

from __future__ import annotations

from dataclasses import dataclass

from rl_impls.envs.model import Actions, Flags, Rewards, States


@dataclass(frozen=True, slots=True)
class Transitions:
    """One array a field; row i of every array is transition i, and rows are in order of time.

    `masks_t` holds the legal actions of `s_t`; without it all are. A terminated transition has no
    future: neither its `s_t` nor its mask is looked at.
    """

    s_tm1: States  # (n,)
    a_tm1: Actions  # (n,)
    r_t: Rewards  # (n,)
    s_t: States  # (n,)
    terminated: Flags  # (n,)
    masks_t: Flags | None = None  # (n, n_actions)

    def __len__(self) -> int:
        return len(self.s_tm1)
