"""The public front in functions: environments, trainings, evaluations and files, by name."""

from __future__ import annotations

from pathlib import Path
from typing import overload

from rl_impls import registry
from rl_impls.agents.agent import DeepAgent, shape_of
from rl_impls.agents.evaluation import evaluate as evaluate_agent
from rl_impls.archive import contents
from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.step import ControlBatch
from rl_impls.envs.tabular import TabularEnv, make_tabular
from rl_impls.errors import AgentFileError, SettingError
from rl_impls.runtimes import SerialRuntime, run
from rl_impls.runtimes.deep import DeepRuntime
from rl_impls.tabular import QLearner
from rl_impls.tabular.training import evaluate as evaluate_table

EPISODES = 100


@overload
def make(env: str, n_envs: None = None, *, seed: int | None = None) -> TabularEnv: ...


@overload
def make(env: str, n_envs: int, *, seed: int | None = None) -> ControlBatch: ...


def make(
    env: str, n_envs: int | None = None, *, seed: int | None = None
) -> TabularEnv | ControlBatch:
    """Return `n_envs` environments as a deep agent sees them, or without a number one as a table
    does: by the number of its states."""
    if n_envs is None:
        return make_tabular(env, seed=seed)
    return make_batch(env, n_envs, seed=seed)


def train(
    env: str,
    agent: str = "ppo",
    *,
    steps: int,
    seed: int | None = 0,
    backend: str | None = None,
) -> DeepAgent | QLearner:
    """Train an agent, by its name, for so many steps in one process, and return it.

    Deep agents have the settings of the preset for the environment, as on the command line.
    """
    if agent in registry.AGENTS:
        preset = registry.preset_for(agent, env)
        batch = make_batch(env, preset.n_envs, seed=seed)
        made = registry.make_agent(shape_of(batch), preset.settings, seed=seed, backend=backend)
        made.env, made.env_name = batch, env
        run(DeepRuntime(made, batch), steps)
        return made
    if agent not in registry.LEARNERS:
        known = ", ".join((*registry.LEARNERS, *registry.AGENTS))
        raise SettingError(f"there is no agent {agent!r}: choose one of {known}.")
    if backend is not None:
        raise SettingError(f"{agent} learns a table, and has no back end: leave it out.")
    table_env = make_tabular(env, seed=seed)
    kind = registry.learner_type(agent)
    learner = kind(table_env.n_states, table_env.n_actions, seed=seed)
    run(SerialRuntime(learner, table_env), steps)
    return learner


def evaluate(
    agent: DeepAgent | QLearner,
    env: str | None = None,
    episodes: int = EPISODES,
    *,
    seed: int = 0,
) -> float:
    """Return the mean return of `episodes` greedy episodes, in environments of their own.

    An agent that was made or trained by the name of its environments need not be told it again.
    """
    name = env or getattr(agent, "env_name", None)
    if name is None:
        raise SettingError("this agent does not know its environment: name it.")
    if isinstance(agent, DeepAgent):
        return float(evaluate_agent(agent, name, episodes, seed=seed).mean())
    return evaluate_table(agent, make_tabular(name, seed=seed), episodes, seed=seed).mean_return


def load(path: str | Path, env: str | None = None) -> DeepAgent | QLearner:
    """Return the agent or the learner that a file holds, whichever it is.

    With the name of its environments a deep agent can go on: `load(path, env).learn(n_steps)`.
    """
    try:
        header, _ = contents(Path(path))
        learner, agent = header.get("learner"), header.get("agent")
    except FileNotFoundError as error:
        raise AgentFileError(f"there is no saved agent at {path}: save one first.") from error
    except (OSError, ValueError) as error:
        raise AgentFileError(
            f"{path} holds no saved agent or learner, or a damaged one."
        ) from error
    if isinstance(learner, str) and learner in registry.LEARNERS:
        return registry.learner_type(learner).load(path)
    if not isinstance(agent, str) or agent not in registry.AGENTS:
        raise AgentFileError(f"{path} holds neither an agent nor a learner that is known here.")
    kind = registry.agent_type(agent)
    loaded = kind.load(path)
    if env is None:
        return loaded
    batch = make_batch(env, loaded.shape.n_envs)  # as many as fit to the rest of the file
    loaded = kind.load(path, batch)
    loaded.env_name = env
    return loaded
