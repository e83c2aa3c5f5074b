"""The public front in functions: environments, trainings, evaluations and files, by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import gymnasium
from gymnasium.envs.registration import EnvSpec

from rl_impls import registry
from rl_impls.agents.agent import AgentSettings, DeepAgent, shape_of
from rl_impls.agents.evaluation import evaluate as evaluate_agent
from rl_impls.archive import contents
from rl_impls.envs.control.make import (
    EnvSource,
    batch_of,
    make_batch,
    make_one,
    name_of,
)
from rl_impls.envs.control.step import ControlBatch
from rl_impls.envs.tabular import TabularEnv
from rl_impls.errors import AgentFileError, SettingError
from rl_impls.learning import more_like
from rl_impls.runtimes import SerialRuntime, run
from rl_impls.tabular import QLearner
from rl_impls.tabular.learner import Settings
from rl_impls.tabular.training import evaluate as evaluate_table

if TYPE_CHECKING:
    from rl_impls.agents.dqn import DQN
    from rl_impls.agents.ppo import PPO
    from rl_impls.agents.qr_dqn import QRDQN
    from rl_impls.agents.rainbow import RainbowLite
    from rl_impls.agents.sac import SAC
    from rl_impls.agents.td3 import TD3

EPISODES = 100


@overload
def make(env: str, n_envs: None = None, *, seed: int | None = None) -> TabularEnv: ...


@overload
def make(env: EnvSource, n_envs: int, *, seed: int | None = None) -> ControlBatch: ...


def make(
    env: EnvSource, n_envs: int | None = None, *, seed: int | None = None
) -> TabularEnv | ControlBatch:
    """Return `n_envs` environments as a deep agent sees them, or without a number one as a table
    does: by the number of its states."""
    if n_envs is None:
        return _tabular(env, seed)
    if isinstance(env, str | EnvSpec):
        return make_batch(env, n_envs, seed=seed)
    batch = batch_of(env, n_envs, seed=seed)
    if batch.n_envs != n_envs:
        raise SettingError(
            f"there {'is' if batch.n_envs == 1 else 'are'} {batch.n_envs} of this environment and "
            f"not {n_envs}: give its name, or a function that makes it."
        )
    return batch


@overload
def train(
    env: EnvSource, agent: Literal["ppo"] = "ppo", *, steps: int, seed: int | None = 0,
    backend: str | None = None, settings: AgentSettings | None = None, progress: bool = False,
) -> PPO: ...  # fmt: skip


@overload
def train(
    env: EnvSource, agent: Literal["dqn"], *, steps: int, seed: int | None = 0,
    backend: str | None = None, settings: AgentSettings | None = None, progress: bool = False,
) -> DQN: ...  # fmt: skip


@overload
def train(
    env: EnvSource, agent: Literal["qr-dqn"], *, steps: int, seed: int | None = 0,
    backend: str | None = None, settings: AgentSettings | None = None, progress: bool = False,
) -> QRDQN: ...  # fmt: skip


@overload
def train(
    env: EnvSource, agent: Literal["sac"], *, steps: int, seed: int | None = 0,
    backend: str | None = None, settings: AgentSettings | None = None, progress: bool = False,
) -> SAC: ...  # fmt: skip


@overload
def train(
    env: EnvSource, agent: Literal["td3"], *, steps: int, seed: int | None = 0,
    backend: str | None = None, settings: AgentSettings | None = None, progress: bool = False,
) -> TD3: ...  # fmt: skip


@overload
def train(
    env: EnvSource, agent: Literal["rainbow-lite"], *, steps: int, seed: int | None = 0,
    backend: str | None = None, settings: AgentSettings | None = None, progress: bool = False,
) -> RainbowLite: ...  # fmt: skip


@overload
def train(
    env: EnvSource, agent: str, *, steps: int, seed: int | None = 0, backend: str | None = None,
    settings: AgentSettings | Settings | None = None, progress: bool = False,
) -> DeepAgent | QLearner: ...  # fmt: skip


def train(
    env: EnvSource,
    agent: str = "ppo",
    *,
    steps: int,
    seed: int | None = 0,
    backend: str | None = None,
    settings: AgentSettings | Settings | None = None,
    progress: bool = False,
) -> DeepAgent | QLearner:
    """Train an agent, by its name, for so many steps in one process, and return it.

    Where no settings are given deep agents have those of the preset for the environment, as on the
    command line, and the schedules of a table last as long as the training. `progress` shows a bar
    for deep agents.
    """
    if agent in registry.AGENTS:
        preset = registry.preset_for(agent, name_of(env) or "")
        batch = batch_of(env, preset.n_envs, seed=seed)
        if settings is None:
            settings = preset.settings
        if not isinstance(settings, kind := registry.settings_type(agent)):
            raise SettingError(f"{agent} takes {kind.__name__}: make its settings of that class.")
        made = registry.make_agent(shape_of(batch), settings, seed=seed, backend=backend)
        made.env, made.env_source = batch, env
        return made.learn(steps, progress=progress)
    if agent not in registry.LEARNERS:
        known = ", ".join((*registry.LEARNERS, *registry.AGENTS))
        raise SettingError(f"there is no agent {agent!r}: choose one of {known}.")
    if backend is not None:
        raise SettingError(f"{agent} learns a table, and has no back end: leave it out.")
    if settings is not None and not isinstance(settings, Settings):
        raise SettingError(f"{agent} takes Settings of rl_impls.tabular: make its settings of it.")
    table_env = _tabular(env, seed)
    learner = registry.learner_type(agent)(
        table_env.n_states,
        table_env.n_actions,
        settings=settings or Settings.for_training(steps),
        seed=seed,
    )
    run(SerialRuntime(learner, table_env), steps)
    return learner


def evaluate(
    agent: DeepAgent | QLearner,
    env: EnvSource | None = None,
    episodes: int = EPISODES,
    *,
    seed: int = 0,
) -> float:
    """Return the mean return of `episodes` greedy episodes.

    An agent that was made or trained with environments that can be made again plays in new ones;
    else they are named or handed over, and played in.
    """
    if isinstance(agent, DeepAgent):
        place = more_like(agent) if env is None else env
        return float(evaluate_agent(agent, place, episodes, seed=seed).mean())
    if env is None:
        raise SettingError("a table does not know its environment: name it.")
    return evaluate_table(agent, _tabular(env, seed), episodes, seed=seed).mean_return


def _tabular(env: EnvSource, seed: int | None) -> TabularEnv:
    """Return an environment as a table sees it."""
    if isinstance(env, gymnasium.Env):
        return TabularEnv(env, seed=seed)
    if isinstance(env, str | EnvSpec) or (callable(env) and not hasattr(env, "step")):
        return TabularEnv(make_one(env), seed=seed)
    raise SettingError(
        "a table learns from one environment at a time: give its name, or a gymnasium.Env."
    )


def load(path: str | Path, env: EnvSource | None = None) -> DeepAgent | QLearner:
    """Return the agent or the learner that a file holds, whichever it is.

    A deep agent can go on, `load(path).learn(n_steps)`, in new environments of the name that it
    learned in, or in those that are handed over.
    """
    try:
        header, _ = contents(Path(path))
        learner, agent = header.get("learner"), header.get("agent")
    except FileNotFoundError as error:
        raise AgentFileError(f"there is no saved agent at {path}: save one first.") from error
    except (OSError, ValueError) as error:
        raise AgentFileError(
            f"{path} holds no saved agent or learner, or a damaged one: name a file that save() "
            "wrote."
        ) from error
    if isinstance(learner, str) and learner in registry.LEARNERS:
        return registry.learner_type(learner).load(path)
    if not isinstance(agent, str) or agent not in registry.AGENTS:
        raise AgentFileError(f"{path} holds neither an agent nor a learner that is known here.")
    return registry.agent_type(agent).load(path, env)
