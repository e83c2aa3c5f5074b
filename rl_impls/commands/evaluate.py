"""`python -m rl_impls evaluate`: how well a saved agent or table plays."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rl_impls.commands import arguments as accepts
from rl_impls.errors import AgentFileError, SettingError
from rl_impls.jit import require_numba

if TYPE_CHECKING:
    from rl_impls.agents.agent import DeepAgent
    from rl_impls.tabular import QLearner

NAME: Final = "evaluate"
HELP: Final = "let a saved agent play greedily; tell what it earned"
EPISODES: Final = 100


@dataclass(frozen=True, slots=True)
class Greedy:
    """What greedy episodes earned."""

    env: str
    agent: str
    seed: int
    episodes: int
    mean_return: float
    standard_error: float | None  # of the mean; none of a table or of one episode
    lowest: float | None
    highest: float | None
    mean_length: float


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="that --save or save() wrote")
    add("env", nargs="?", metavar="ENV", help="where to play (default: where it learned)")
    add("--episodes", type=accepts.positive, default=EPISODES, metavar="N",
        help=f"(default {EPISODES})")  # fmt: skip
    add("--seed", type=accepts.not_negative, default=0, metavar="S")
    add("--best", action="store_true",
        help="the best parameters that were validated, not those at the end")  # fmt: skip
    add("--json", action="store_true", help="print the result as data")


def run(arguments: Namespace) -> int:
    require_numba("evaluating", otherwise="play in Python, with a learner of a table")
    # Imported here: it compiles.
    from rl_impls.agents.agent import DeepAgent
    from rl_impls.api import load

    agent = load(arguments.file)
    if isinstance(agent, DeepAgent):
        if arguments.best:
            agent = _best(arguments.file, agent)
        played = _play(arguments, agent)
    else:
        if arguments.best:
            raise SettingError("--best is of deep agents, which are validated: leave it out.")
        played = _play_table(arguments, agent)
    if arguments.json:
        print(json.dumps(asdict(played), indent=2), flush=True)
        return 0
    spread = ""
    if played.standard_error is not None:
        spread = f" ± {played.standard_error:.3f} ({played.lowest:g} to {played.highest:g})"
    print(
        f"{played.agent} on {played.env}, {played.episodes:,} greedy episodes: mean return "
        f"{played.mean_return:.3f}{spread}, mean length {played.mean_length:.1f}",
        flush=True,
    )
    return 0


def _best(path: Path, agent: DeepAgent) -> DeepAgent:
    from rl_impls.agents.evaluation import BestCheckpoint
    from rl_impls.archive import contents

    if not any(name.startswith("stopping.kept_") for name in contents(path)[1]):
        raise AgentFileError(
            f"{path} holds no validated checkpoint: leave --best out, and play what it holds."
        )
    best = BestCheckpoint(lambda _: 0.0)
    agent = type(agent).load(path, None, best)
    best.restore_best(agent)
    return agent


def _play(arguments: Namespace, agent: DeepAgent) -> Greedy:
    from rl_impls.agents.evaluation import play

    env = arguments.env or agent.env_name
    if env is None:
        raise SettingError(
            f"{arguments.file} does not tell where its agent learned: name an environment after it."
        )
    limit = accepts.batch_arguments(env)
    played = play(agent, env, arguments.episodes, seed=arguments.seed, **limit)
    returns = played.returns
    n = len(returns)
    return Greedy(
        env=env,
        agent=agent.name,
        seed=arguments.seed,
        episodes=n,
        mean_return=float(returns.mean()),
        standard_error=float(returns.std(ddof=1) / n**0.5) if n > 1 else None,
        lowest=float(returns.min()),
        highest=float(returns.max()),
        mean_length=float(played.lengths.mean()),
    )


def _play_table(arguments: Namespace, learner: QLearner) -> Greedy:
    from rl_impls.tabular.training import check_fit, evaluate

    if arguments.env is None:
        raise SettingError(
            f"{arguments.file} holds a table, which does not tell where it was learned: name an "
            "environment after it."
        )
    env = accepts.environment(arguments.env)(seed=arguments.seed)
    check_fit(learner, env.n_states, env.n_actions)
    played = evaluate(learner, env, arguments.episodes, seed=arguments.seed)
    return Greedy(
        env=arguments.env,
        agent=learner.name,
        seed=arguments.seed,
        episodes=played.episodes,
        mean_return=played.mean_return,
        standard_error=None,
        lowest=None,
        highest=None,
        mean_length=played.steps / played.episodes,
    )
