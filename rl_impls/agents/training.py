"""The loop: it knows an agent's `act` and `observe`, and nothing of how it learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rl_impls.agents.agent import Agent, shape_of
from rl_impls.agents.settings import at_least
from rl_impls.envs.control.step import ControlBatch, Step
from rl_impls.errors import SettingError

# Called after each step of the batch; whoever returns True ends the training.
Hook = Callable[[Agent, Step], bool]


def train(agent: Agent, env: ControlBatch, n_steps: int, *, hooks: Sequence[Hook] = ()) -> int:
    """Let the agent act and learn for `n_steps` steps of all environments together.

    The batch goes on from where it stands, and steps as a whole: the last one may lead beyond
    `n_steps`. Returns how many steps there were.
    """
    at_least(1, n_steps=n_steps)
    check_fits(agent, env)
    start = agent.n_steps
    goal = start + n_steps
    obs = env.obs
    while agent.n_steps < goal:
        step = env.step(agent.act(obs))
        agent.observe(step)
        obs = step.next_obs
        # Every hook sees every step, whatever another one decides.
        if hooks and True in [hook(agent, step) for hook in hooks]:
            break
    return agent.n_steps - start


def check_fits(agent: Agent, env: ControlBatch) -> None:
    shape = shape_of(env)
    if agent.shape != shape:
        raise SettingError(
            f"the agent was made for {agent.shape}, and these environments are {shape}: "
            "make one with shape_of(env)."
        )
